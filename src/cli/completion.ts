// Reads a command line that is still being typed against the tree of commands, and says what its
// last word could be. Pure but for the tree.

import type { Argument, Command, Option } from 'commander'

export type Kind = 'worker' | 'model' | 'context' | 'file' | 'none'

export interface Expected {
  /** Words that commander knows: commands, options, choices. */
  words: { value: string; meaning: string }[]
  /** Names that only the gateway or a file knows. */
  kind: Kind
  /** Not to be offered again. */
  taken: string[]
  /** Said earlier in the line. */
  socket: string | undefined
  context: string | undefined
}

/** `line` is what stands after `ogw`; its last word is the one to complete, often empty. */
export function readLine(program: Command, line: readonly string[]): Expected {
  const reading = new Reading(program)
  for (const word of line.slice(0, -1)) reading.take(word)
  return reading.expect(line.at(-1) ?? '')
}

class Reading {
  #command: Command
  readonly #chain: Command[]
  readonly #operands: string[] = []
  readonly #said = new Map<string, string>()
  #awaits: Option | undefined
  #onlyOperands = false

  constructor(program: Command) {
    this.#command = program
    this.#chain = [program]
  }

  take(word: string): void {
    if (this.#awaits !== undefined) {
      this.#said.set(this.#awaits.attributeName(), word)
      this.#awaits = undefined
      return
    }
    if (word === '--') {
      this.#onlyOperands = true
      return
    }
    if (word.startsWith('-') && !this.#onlyOperands) {
      const option = this.#options().find(({ short, long }) => word === short || word === long)
      if (option?.required === true) this.#awaits = option
      return
    }
    const child = this.#command.commands.find((one) => one.name() === word)
    if (child === undefined || this.#operands.length > 0) {
      this.#operands.push(word)
      return
    }
    this.#command = child
    this.#chain.push(child)
  }

  expect(current: string): Expected {
    const shared = {
      taken: this.#operands,
      socket: this.#said.get('socket'),
      context: this.#said.get('context'),
    }
    if (this.#awaits !== undefined) {
      const { argChoices = [] } = this.#awaits
      return { ...shared, taken: [], words: argChoices.map(bare), kind: kindOfOption(this.#awaits) }
    }
    if (current.startsWith('-') && !this.#onlyOperands) {
      const words = this.#options().flatMap((option) =>
        option.long === undefined || option.hidden
          ? []
          : [{ value: option.long, meaning: option.description }],
      )
      return { ...shared, words, kind: 'none' }
    }
    const argument = this.#argument()
    const commands = this.#operands.length > 0 ? [] : this.#visibleCommands()
    return {
      ...shared,
      words: [...commands, ...(argument?.argChoices ?? []).map(bare)],
      kind: argument === undefined ? 'none' : kindOfArgument(argument, this.#command),
    }
  }

  #options(): Option[] {
    return this.#chain.flatMap((command) => [...command.options]).toReversed()
  }

  #argument(): Argument | undefined {
    const { registeredArguments: list } = this.#command
    const last = list.at(-1)
    return list[this.#operands.length] ?? (last?.variadic === true ? last : undefined)
  }

  #visibleCommands(): Expected['words'] {
    const help = this.#command.createHelp()
    return help
      .visibleCommands(this.#command)
      .filter((child) => child.name() !== 'help')
      .map((child) => ({ value: child.name(), meaning: help.subcommandDescription(child) }))
  }
}

const bare = (value: string): { value: string; meaning: string } => ({ value, meaning: '' })

function kindOfOption(option: Option): Kind {
  const name = option.attributeName()
  if (name === 'worker' || name === 'context') return name
  return ['file', 'socket', 'config'].includes(name) ? 'file' : 'none'
}

function kindOfArgument(argument: Argument, command: Command): Kind {
  const name = argument.name()
  if (name === 'worker') return 'worker'
  if (name === 'model' || name === 'pattern') return 'model'
  if (name === 'name' && command.parent?.name() === 'context') return 'context'
  return name === 'file' || name === 'target' ? 'file' : 'none'
}
