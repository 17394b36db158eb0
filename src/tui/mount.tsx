// Hands the console to the terminal library with exactly the options that were measured.

import { render } from 'ink'
import { App } from './components/App.tsx'
import { Reader } from './components/Reader.tsx'
import type { Console } from './console.ts'
import type { ConsoleOptions } from './main.tsx'
import type { Terminal } from './terminal.ts'

export interface Mount {
  console: Console
  terminal: Terminal
  reader: boolean
  ignoresKeys: () => boolean
  options: Pick<ConsoleOptions, 'stdin' | 'stdout' | 'stderr'>
}

/** Resolves when the console was quit; rejects with an error of drawing. */
export async function mount({
  console,
  terminal,
  reader,
  ignoresKeys,
  options,
}: Mount): Promise<void> {
  const { stdin, stdout, stderr } = options
  const clear = (): void => instance.clear()
  const View = reader ? Reader : App
  const instance = render(
    <View console={console} terminal={terminal} clear={clear} ignoresKeys={ignoresKeys} />,
    {
      stdin,
      stdout,
      stderr,
      alternateScreen: !reader,
      incrementalRendering: !reader,
      isScreenReaderEnabled: reader,
      maxFps: 30,
      exitOnCtrlC: false,
      patchConsole: false,
      interactive: true,
    },
  )
  const redraw = (): void => terminal.redraw()
  stdout.on('resize', redraw)
  try {
    await instance.waitUntilExit()
  } finally {
    stdout.off('resize', redraw)
    instance.unmount()
  }
}
