import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { socketCandidates, socketPathProblem } from '../../../src/gateway/contract/socket-path.ts'
import { socketToServe } from '../../../src/gateway/contract/socket-path.ts'
import type { SocketPlace } from '../../../src/gateway/contract/socket-path.ts'

const RUN = '/run/ogw/admin.sock'
const TMP = '/tmp/ogw-1000/admin.sock'
const SESSION = '/run/user/1000/ogw/admin.sock'

const place = (more: Partial<SocketPlace> = {}): SocketPlace => ({
  platform: 'linux',
  env: {},
  uid: 1000,
  ...more,
})

// where it is looked for, and where `serve` makes it
const TABLE: [string, Partial<SocketPlace>, string[], string][] = [
  ['nothing set', {}, [RUN, TMP], TMP],
  ['root', { uid: 0 }, [RUN, '/tmp/ogw-0/admin.sock'], RUN],
  ['a session', { env: { XDG_RUNTIME_DIR: '/run/user/1000' } }, [SESSION, RUN, TMP], SESSION],
  [
    'a service of systemd with two folders',
    { env: { RUNTIME_DIRECTORY: '/run/gate:/run/other', XDG_RUNTIME_DIR: '/run/user/1000' } },
    ['/run/gate/admin.sock', SESSION, RUN, TMP],
    '/run/gate/admin.sock',
  ],
  ['configured', { configured: '/srv/c.sock' }, ['/srv/c.sock'], '/srv/c.sock'],
  ['configured as null', { configured: null }, [RUN, TMP], TMP],
  [
    'the environment before the config',
    { env: { OGW_SOCKET: '/e.sock' }, configured: '/c.sock' },
    ['/e.sock'],
    '/e.sock',
  ],
  [
    'the flag before all',
    { flag: '/f.sock', env: { OGW_SOCKET: '/e.sock' }, configured: '/c.sock' },
    ['/f.sock'],
    '/f.sock',
  ],
  [
    'empty values are none',
    { flag: '', env: { OGW_SOCKET: '', RUNTIME_DIRECTORY: '', XDG_RUNTIME_DIR: '' } },
    [RUN, TMP],
    TMP,
  ],
  [
    'Windows',
    { platform: 'win32', uid: undefined, env: { USERNAME: 'Jörg B', XDG_RUNTIME_DIR: '/x' } },
    ['\\\\.\\pipe\\ogw-J_rg_B'],
    '\\\\.\\pipe\\ogw-J_rg_B',
  ],
  [
    'Windows with a flag',
    { platform: 'win32', uid: undefined, flag: '\\\\.\\pipe\\mine' },
    ['\\\\.\\pipe\\mine'],
    '\\\\.\\pipe\\mine',
  ],
]

suite('where the admin socket is', () => {
  for (const [name, more, candidates, served] of TABLE) {
    test(name, () => {
      assert.deepEqual(
        socketCandidates(place(more)).map(({ path }) => path),
        candidates,
      )
      assert.equal(socketToServe(place(more)).path, served)
    })
  }
})

suite('what no system takes', () => {
  const of = (bytes: number): string => `/${'x'.repeat(bytes - 1)}`
  const cases: [string, string, NodeJS.Platform, RegExp | undefined][] = [
    ['107 bytes', of(107), 'linux', undefined],
    ['108 bytes', of(108), 'linux', /108 bytes long, the system allows 107/],
    ['macOS has less', of(104), 'darwin', /104 bytes long, the system allows 103/],
    ['bytes count, not characters', `/${'é'.repeat(54)}`, 'linux', /109 bytes/],
    ['a relative path', 'admin.sock', 'linux', /absolute/],
    ['a pipe', '\\\\.\\pipe\\ogw', 'win32', undefined],
    ['a path on Windows', 'C:\\admin.sock', 'win32', /named pipe/],
  ]
  for (const [name, file, platform, why] of cases) {
    test(name, () => {
      const problem = socketPathProblem(file, platform)
      if (why === undefined) assert.equal(problem, undefined)
      else assert.match(problem ?? '', why)
    })
  }
})
