// The console as the terminal library sees it: rows of text, one handler for keys, one for pastes.

import { Box, Text, useApp, useInput, usePaste, useWindowSize } from 'ink'
import { memo, useEffect, useSyncExternalStore } from 'react'
import type { Console } from '../console.ts'
import { paste, press } from '../dispatch.ts'
import { frame } from '../frame.ts'
import { keysOf } from '../input.ts'
import type { Terminal } from '../terminal.ts'

interface Props {
  console: Console
  terminal: Terminal
  /** Forgets what is on the screen, so that the next frame is drawn whole. */
  clear: () => void
  /** Keys within this time are not ours. */
  ignoresKeys: () => boolean
}

export function App({ console, terminal, clear, ignoresKeys }: Props) {
  const { store } = console
  useSyncExternalStore(store.subscribe, store.getState)
  useTerminal({ console, terminal, clear, ignoresKeys })
  useWindowSize()
  // The width is a share and never a number: with a number, a window that became narrower keeps
  // what was to the right of it.
  return (
    <Box flexDirection="column" width="100%">
      {frame(console.view()).map((text, index) => (
        // A row of the screen is its place on the screen.
        // oxlint-disable-next-line react/no-array-index-key -- see above
        <Row key={index} text={text} />
      ))}
    </Box>
  )
}

export function useTerminal({ console, terminal, clear, ignoresKeys }: Props): void {
  const { exit, suspendTerminal } = useApp()
  useEffect(() => {
    terminal.attach({ clear, exit: () => exit(), suspendTerminal })
  }, [terminal, clear, exit, suspendTerminal])
  useInput((input, key) => {
    if (!ignoresKeys()) press(console, keysOf(input, key))
  })
  usePaste((text) => paste(console, text))
}

const Row = memo(function Row({ text }: { text: string }) {
  return <Text wrap="truncate">{text}</Text>
})
