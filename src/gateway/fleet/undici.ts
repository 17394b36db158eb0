// The parts of undici that talk to workers. Its main file also loads fetch, caches, mocks, WebSocket
// and more, which would stay in memory unused: measured, 5 MiB of a gateway at rest. The package is
// pinned to one version; a part that moves in another one fails at once, at the import.

import api from 'undici/lib/api/index.js'
import buildConnector from 'undici/lib/core/connect.js'
import Client from 'undici/lib/dispatcher/client.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import Pool from 'undici/lib/dispatcher/pool.js'

// As the main file does: `request` and its sisters are methods of every dispatcher.
Object.assign(Dispatcher.prototype, api)

export { buildConnector, Client, Pool }
