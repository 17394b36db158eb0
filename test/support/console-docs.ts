// docs/console.md: every screen with its picture and its keys, made from the keymap.

import { KEYMAP } from '../../src/tui/keys.ts'
import { type KeyContext, keyName } from '../../src/tui/keymap.ts'
import { FILTER_KEYS } from '../../src/tui/filter.ts'
import { SMALLEST } from '../../src/tui/layout.ts'

interface Section {
  on: KeyContext
  title: string
  images: readonly string[]
  text: string
}

const SECTIONS: readonly Section[] = [
  {
    on: 'placement',
    title: '1 Placement',
    images: ['placement', 'why'],
    text: 'One row a model, one column a worker; families of models are rows of their own, and a rule made there is a prefix rule. `●` loaded, `✓` installed, `○` allowed and not installed, `✗` blocked, `?` inventory never read; `↳` an exact rule decided, `*` a prefix rule stands here, `!` loaded although blocked, `~` a change is on its way, a digit is how many requests run. ELIG is how many workers could take a request now. A change that would leave a model without a worker is asked for first; everything else is done at once, said with the command that does the same, and taken back with `u`.',
  },
  {
    on: 'workers',
    title: '2 Workers',
    images: ['workers', 'cards'],
    text: 'A table, or cards where all of them fit. Bars say how busy a worker is, and busy is fine; dots mean that nothing is known. The line of TOK/S is the last two minutes.',
  },
  {
    on: 'ruleset',
    title: 'Rules of a worker',
    images: ['ruleset'],
    text: 'A draft: nothing happens before it is applied. The right side is what the gateway says that the draft would do.',
  },
  {
    on: 'requests',
    title: '3 Requests',
    images: ['requests'],
    text: 'What runs, what waits and for what, and what ended in the last minute. Prompts and answers are never shown.',
  },
  {
    on: 'models',
    title: '4 Models',
    images: ['models'],
    text: 'CTX is three numbers: the trained maximum, what the Modelfile says, what is loaded now. HIDDEN means installed only where placement blocks it, so that clients do not see it. `!` beside the installed copies: their digests differ.',
  },
  {
    on: 'tenants',
    title: '5 Tenants',
    images: ['tenants'],
    text: 'Who shares the fleet, and what is left of their credits: `!` from 90 %, `✗` when all is spent, `∞` where there is no limit. REQ/MIN and TOK/MIN are of the last minute; SHARE is the weight; ACTORS have an account of credits, which who is not vouched for has not. Below, the actors and keys of the tenant under the cursor, at most 100 of each, those in use first; LAST is known since the gateway started. Enter opens the policy: each limit that may be none has a box to tick, Space ticks it, unticking brings the number back; amounts may be written as 500k or 2M. A conflict keeps what was typed and shows the rest as it is now. `u` takes changes of tenants and grants back; a reset asks, and a revoked key wants its id typed, because nothing brings them back. A new key is shown once and is nowhere afterwards. There is no switching off of a tenant: revoke its keys, or deny it `*`. `ogw tenants set` makes new ones. A gateway that is older than this screen is said to be in one line.',
  },
  {
    on: 'events',
    title: '6 Events, audit, storage',
    images: ['events'],
    text: 'What happened, who changed what, and every state file. `u` takes back the edit under the cursor, whoever made it, after showing it.',
  },
  { on: 'everywhere', title: 'Everywhere', images: ['help'], text: '' },
]

export function consoleDocs(): string {
  return [
    '# The console',
    '',
    'Generated from `src/tui/keys.ts` by `npm run docs`; the pictures by `npm run screenshots`.',
    '',
    '`ogw tui` shows the running gateway and steers it. It attaches and detaches freely, any number at once; quitting never stops the gateway. Over SSH: `ssh -t host ogw tui`, or `ogw tui --context NAME` with a context of `ogw context add`.',
    '',
    ...SECTIONS.flatMap(section),
    '## Filters',
    '',
    `\`/\` keeps the rows in which every word fits: a word is part of a name, \`!word\` must not fit, \`~wd\` needs its letters only in order, \`*\` stands for anything, and ${FILTER_KEYS.map((one) => `\`${one}:\``).join(' ')} look at one column: \`qwen !vl state:loaded cap:tools\`.`,
    '',
    '## When something is wrong',
    '',
    '- A gateway that is silent for three seconds is STALE, one that is gone *disconnected*: the last picture stays, dimmed, every change is refused (never queued), and the console tries again by itself; `r` tries now.',
    '- Two people at once: a change is refused if somebody changed placement since you looked, with who did what.',
    '- `--read-only` changes nothing. `NO_COLOR` or `--no-color` leaves bold, dim and inverse. `--ascii`, `OGW_ASCII=1`, `TERM=linux` or a locale without UTF-8 draw letters: `L` loaded, `I` installed, `A` allowed, `X` blocked, `=` exact rule.',
    `- The smallest screen is ${SMALLEST.columns}x${SMALLEST.rows}. \`--screen-reader\` (or \`INK_SCREEN_READER=true\`) prints words in lines.`,
    '- Copying (`y`) goes through the terminal; tmux needs `set -g set-clipboard on`. GNU screen needs `altscreen on` to bring the shell back after quitting.',
    '- A console that was killed with SIGKILL leaves the terminal as it was: `ogw tui --reset-terminal` repairs it.',
    '',
  ].join('\n')
}

function section({ on, title, images, text }: Section): string[] {
  const keys = KEYMAP.filter((binding) => binding.on === on)
  const table = keys.map(({ keys: names, help, twin }) => {
    const shown = names.map((name) => `\`${keyName(name)}\``).join(' ')
    return `| ${shown} | ${help} | ${twin === undefined ? '' : `\`${twin.replaceAll('|', '\\|')}\``} |`
  })
  return [
    `## ${title}`,
    '',
    ...(text === '' ? [] : [text, '']),
    ...images.flatMap((image) => [`![${title}](images/${image}.svg)`, '']),
    ...(table.length === 0
      ? []
      : ['| key | does | command |', '| --- | --- | --- |', ...table, '']),
  ]
}
