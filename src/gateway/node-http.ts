// Node's HTTP without what an import of it brings along: an ES import reads every name that the
// module exports, and one of them, WebSocket, loads Node's whole fetch. Measured, that is 4 MiB of
// memory for good, and 20 ms at the start of each command.

const { Agent, createServer, request } = process.getBuiltinModule('node:http')

export { Agent, createServer, request }
