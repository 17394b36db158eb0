// Loaded with --import before a program: writes the URL of every module that it loads to the file
// named by OGW_TRACE_LOADS, one a line.

import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const file = process.env['OGW_TRACE_LOADS']
if (file !== undefined) {
  registerHooks({
    load(url, context, nextLoad) {
      appendFileSync(file, `${url}\n`)
      return nextLoad(url, context)
    },
  })
}
