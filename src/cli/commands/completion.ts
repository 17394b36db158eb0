// `ogw completion SHELL`: a small script that asks `ogw __complete` at each press of Tab, so that
// commands, options, workers and models are always those of this version and this fleet.

import { Argument, Command } from 'commander'
import type { CliContext } from '../context.ts'
import { addExamples } from '../options.ts'

export function completionCommand(context: CliContext): Command {
  const command = new Command('completion')
    .description('print a script that completes commands, workers and models')
    .addArgument(new Argument('<shell>', 'the shell it is for').choices(Object.keys(SCRIPTS)))
    .action((shell: keyof typeof SCRIPTS) => {
      const script = SCRIPTS[shell]
      context.print({ shell, script }, () => script)
    })
  return addExamples(command, [
    ['source <(ogw completion bash)', 'in ~/.bashrc'],
    ['source <(ogw completion zsh)', 'in ~/.zshrc, after compinit'],
    ['ogw completion fish > ~/.config/fish/completions/ogw.fish', 'once'],
  ])
}

// Bash splits words at colons, which model names have: the line is split here by blanks alone, and
// what stands before the last colon is taken off the answers again. Within quotes no colon splits.
const BASH = String.raw`# ogw completion for bash
_ogw() {
  local line=${'$'}{COMP_LINE:0:COMP_POINT} word _description prefix=''
  local -a typed
  read -r -a typed <<< "$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  local current=${'$'}{typed[${'$'}{#typed[@]}-1]}
  [[ $current != [\"\']* && $current == *:* && $COMP_WORDBREAKS == *:* ]] && prefix=${'$'}{current%"${'$'}{current##*:}"}
  COMPREPLY=()
  while IFS=$'\t' read -r word _description; do
    if [[ $word == ':file' ]]; then
      compopt -o default
    else
      COMPREPLY+=("${'$'}{word#"$prefix"}")
    fi
  done < <("${'$'}{typed[0]/#\~/$HOME}" __complete -- "${'$'}{typed[@]:1}" 2>/dev/null)
}
complete -F _ogw ogw
`

const ZSH = String.raw`#compdef ogw
# ogw completion for zsh
_ogw() {
  local -a found
  local word description
  while IFS=$'\t' read -r word description; do
    if [[ $word == ':file' ]]; then
      _files
    else
      found+=("${'$'}{word//:/\\:}:$description")
    fi
  done < <("${'$'}{words[1]/#\~/$HOME}" __complete -- "${'$'}{(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( ${'$'}{#found} )) && _describe 'ogw' found
}
compdef _ogw ogw
`

const FISH = String.raw`# ogw completion for fish
function __ogw_complete
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  set -l program $typed[1]
  set -e typed[1]
  for line in ($program __complete -- $typed "$current" 2>/dev/null)
    if test "$line" = ':file'
      __fish_complete_path "$current"
    else
      echo $line
    end
  end
end
complete -c ogw -f -a '(__ogw_complete)'
`

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const
