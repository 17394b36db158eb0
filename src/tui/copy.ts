// Copying through the terminal, so that it also works over SSH; tmux needs `set-clipboard on`.

import type { Console } from './console.ts'

/** Longer texts are cut off by many terminals without a word. */
const MAX_COPIED = 4_096

export function copyText(console: Console, text: string): void {
  const encoded = Buffer.from(text.slice(0, MAX_COPIED)).toString('base64')
  console.terminal.write(`\u001b]52;c;${encoded}\u0007`)
}
