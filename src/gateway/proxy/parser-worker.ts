// Starts a parser thread: from its file, or from inside the single-file executable, where there
// are no files.

import { Worker } from 'node:worker_threads'

/** The name under which the executable carries the thread's code. */
const ASSET = 'parser-thread'

export function startParserThread(): Worker {
  // Asked of the process: bundled into one file, a module cannot tell where it is.
  const sea = process.getBuiltinModule('node:sea')
  if (sea.isSea()) return new Worker(sea.getAsset(ASSET, 'utf8'), { eval: true })
  return new Worker(new URL('./parser-thread.js', import.meta.url))
}
