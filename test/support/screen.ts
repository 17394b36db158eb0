// A terminal as far as the console needs one: what is written to it becomes rows of text, modes and
// colours that a test reads. Line feeds also return, because no kernel stands between.

import { graphemesOf, width } from '../../src/tui/present/text.ts'

interface ScreenCell {
  /** Empty for the right half of a wide letter. */
  text: string
  /** The SGR parameters that hold here, as in `1;36`. */
  style: string
}

const BLANK: ScreenCell = { text: ' ', style: '' }

export class Screen {
  columns: number
  rows: number
  bytes = 0
  /** Everything that was ever written. */
  written = ''
  /** Private modes that are on, as in `1049` and `25`. */
  readonly modes = new Set(['25', '7'])
  /** Sequences that this emulator does not know: a test asserts that there are none. */
  readonly unknown: string[] = []
  #cells: ScreenCell[][]
  #saved: ScreenCell[][] | undefined
  #row = 0
  #column = 0
  #wrapNext = false
  #style: string[] = []
  #pending = ''

  constructor(columns: number, rows: number) {
    this.columns = columns
    this.rows = rows
    this.#cells = blankRows(columns, rows)
  }

  write(data: string): void {
    this.bytes += Buffer.byteLength(data)
    this.written += data
    let rest = this.#pending + data
    this.#pending = ''
    while (rest !== '') {
      const taken = rest.startsWith('\u001b') ? this.#escape(rest) : this.#plain(rest)
      if (taken === 0) {
        this.#pending = rest
        return
      }
      rest = rest.slice(taken)
    }
  }

  /** As xterm does: rows are cut or filled at the right and at the end. */
  resize(columns: number, rows: number): void {
    this.columns = columns
    this.rows = rows
    this.#cells = fitted(this.#cells, columns, rows)
    if (this.#saved !== undefined) this.#saved = fitted(this.#saved, columns, rows)
    this.#row = Math.min(this.#row, rows - 1)
    this.#column = Math.min(this.#column, columns - 1)
    this.#wrapNext = false
  }

  /** The rows as a person reads them, without blanks at the end. */
  lines(): string[] {
    return this.#cells.map((row) =>
      row
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    )
  }

  text(): string {
    return this.lines().join('\n')
  }

  /** The style at the first place where the text stands; undefined where it does not. */
  styleOf(text: string): string | undefined {
    for (const row of this.#cells) {
      const line = row.map((cell) => (cell.text === '' ? '' : cell.text))
      const at = line.join('').indexOf(text)
      if (at === -1) continue
      let seen = 0
      for (const cell of row) {
        if (seen >= at && cell.text !== '') return cell.style
        seen += cell.text.length
      }
    }
    return undefined
  }

  get isAlternate(): boolean {
    return this.modes.has('1049')
  }

  #plain(rest: string): number {
    const end = rest.indexOf('\u001b')
    const text = end === -1 ? rest : rest.slice(0, end)
    for (const letter of graphemesOf(text)) this.#put(letter)
    return text.length
  }

  #put(letter: string): void {
    if (letter === '\r\n' || letter === '\n') {
      this.#column = 0
      this.#down()
    } else if (letter === '\r') this.#column = 0
    else if (letter === '\u0007') return
    else this.#draw(letter)
    if (letter === '\r' || letter.endsWith('\n')) this.#wrapNext = false
  }

  #draw(letter: string): void {
    const cells = width(letter)
    if (cells === 0) return
    if (this.#wrapNext || this.#column + cells > this.columns) {
      this.#column = 0
      this.#down()
    }
    this.#wrapNext = false
    const row = this.#cells[this.#row]!
    const style = this.#style.join(';')
    row[this.#column] = { text: letter, style }
    if (cells === 2) row[this.#column + 1] = { text: '', style }
    this.#column += cells
    if (this.#column >= this.columns) {
      this.#column = this.columns - 1
      this.#wrapNext = true
    }
  }

  #down(): void {
    if (this.#row < this.rows - 1) this.#row += 1
    else {
      this.#cells.shift()
      this.#cells.push(blankRow(this.columns))
    }
  }

  /** Zero = not complete yet. */
  #escape(rest: string): number {
    // oxlint-disable-next-line no-control-regex -- escape codes are what this reads
    const csi = /^\u001b\[([?>]?)([\d;]*)([@-~])/.exec(rest)
    if (csi !== null) {
      const [all, mark = '', parameters = '', final = ''] = csi
      this.#control(mark, parameters, final)
      return all.length
    }
    // oxlint-disable-next-line no-control-regex -- as above
    const osc = /^\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/.exec(rest)
    if (osc !== null) return osc[0].length
    // oxlint-disable-next-line no-control-regex -- as above
    if (/^\u001b(?:\[[?>]?[\d;]*)?$/.test(rest) || rest.startsWith('\u001b]')) return 0
    this.unknown.push(rest.slice(0, 4))
    return 1
  }

  #control(mark: string, parameters: string, final: string): void {
    const numbers = parameters.split(';').map((one) => (one === '' ? undefined : Number(one)))
    const first = numbers[0]
    if (mark === '?') this.#mode(parameters, final)
    else if (final === 'm') this.#sgr(parameters)
    else this.#move(final, first, numbers[1])
  }

  #mode(parameters: string, final: string): void {
    for (const mode of parameters.split(';')) {
      if (final === 'h') this.modes.add(mode)
      else if (final === 'l') this.modes.delete(mode)
      if (mode === '1049') this.#alternate(final === 'h')
    }
  }

  #alternate(enter: boolean): void {
    if (enter) {
      this.#saved = this.#cells
      this.#cells = blankRows(this.columns, this.rows)
      this.#row = 0
      this.#column = 0
    } else if (this.#saved !== undefined) {
      this.#cells = this.#saved
      this.#saved = undefined
    }
  }

  #sgr(parameters: string): void {
    for (const code of parameters === '' ? ['0'] : parameters.split(';')) {
      if (code === '0') this.#style = []
      else if (code === '22') this.#style = this.#style.filter((one) => one !== '1' && one !== '2')
      else if (code === '27') this.#style = this.#style.filter((one) => one !== '7')
      else if (code === '24') this.#style = this.#style.filter((one) => one !== '4')
      else if (code === '39') this.#style = this.#style.filter((one) => !/^[39]\d$/.test(one))
      else if (!this.#style.includes(code)) this.#style = [...this.#style, code]
    }
  }

  #move(final: string, first: number | undefined, second: number | undefined): void {
    this.#wrapNext = false
    const count = first ?? 1
    switch (final) {
      case 'A':
        this.#row = Math.max(0, this.#row - count)
        return
      case 'B':
        this.#row = Math.min(this.rows - 1, this.#row + count)
        return
      case 'C':
        this.#column = Math.min(this.columns - 1, this.#column + count)
        return
      case 'D':
        this.#column = Math.max(0, this.#column - count)
        return
      case 'E':
        this.#column = 0
        this.#row = Math.min(this.rows - 1, this.#row + count)
        return
      case 'G':
        this.#column = Math.min(this.columns, count) - 1
        return
      case 'H':
        this.#row = Math.min(this.rows, count) - 1
        this.#column = Math.min(this.columns, second ?? 1) - 1
        return
      default:
        this.#erase(final, first ?? 0)
    }
  }

  #erase(final: string, how: number): void {
    const row = this.#cells[this.#row]!
    if (final === 'K') {
      const from = how === 0 ? this.#column : 0
      const to = how === 1 ? this.#column + 1 : this.columns
      row.fill(BLANK, from, to)
    } else if (final === 'J') {
      if (how === 0) {
        row.fill(BLANK, this.#column)
        for (let below = this.#row + 1; below < this.rows; below += 1)
          this.#cells[below] = blankRow(this.columns)
      } else this.#cells = blankRows(this.columns, this.rows)
    } else this.unknown.push(`CSI ${how} ${final}`)
  }
}

const blankRow = (columns: number): ScreenCell[] => Array.from({ length: columns }, () => BLANK)
const blankRows = (columns: number, rows: number): ScreenCell[][] =>
  Array.from({ length: rows }, () => blankRow(columns))

function fitted(cells: ScreenCell[][], columns: number, rows: number): ScreenCell[][] {
  return Array.from({ length: rows }, (_, index) => {
    const row = cells[index] ?? blankRow(columns)
    return Array.from({ length: columns }, (_cell, column) => row[column] ?? BLANK)
  })
}
