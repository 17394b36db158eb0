// The console for a screen reader: a few lines in words, which change only when a key was pressed
// or a message has something to say.

import { Box, Text } from 'ink'
import { useSyncExternalStore } from 'react'
import type { Console } from '../console.ts'
import { readerLines } from '../reader.ts'
import type { Terminal } from '../terminal.ts'
import { useTerminal } from './App.tsx'

interface Props {
  console: Console
  terminal: Terminal
  clear: () => void
  ignoresKeys: () => boolean
}

export function Reader(props: Props) {
  const { store } = props.console
  useSyncExternalStore(store.subscribe, () => `${store.snapshot === undefined}`)
  useSyncExternalStore(store.subscribe, () => store.ui)
  useTerminal(props)
  return (
    <Box flexDirection="column">
      {readerLines(props.console.view()).map((text, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- lines have no other name
        <Text key={index}>{text}</Text>
      ))}
    </Box>
  )
}
