// The real program in a real terminal: keys through a pty, signals, job control, and the terminal
// given back as it was.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { suite, test } from 'node:test'
import { startFakeGateway } from '../support/fake-gateway.ts'
import { largeFleet } from '../support/large-fleet.ts'
import { needsTool } from '../support/needs.ts'
import { until } from '../support/until.ts'
import { OGW, startTmux, type TmuxTerminal } from '../support/tmux.ts'

/** Starts the console behind a line of the shell that has to be there again afterwards. */
async function openConsole(terminal: TmuxTerminal, socket: string): Promise<void> {
  terminal.line('echo BEFORE')
  terminal.line(`${OGW} tui --socket ${socket}`)
  await terminal.see(/● live/)
  assert.equal(terminal.ask('#{alternate_on} #{cursor_flag}'), '1 0')
}

/** The shell's own screen is back, the cursor is seen, keys are echoed line by line. */
async function isGivenBack(terminal: TmuxTerminal, code: number): Promise<void> {
  await until(() => pidOf(terminal) === 0, { intervalMs: 50, what: 'the console to end' })
  terminal.line('echo RC=$?')
  const screen = await terminal.see(/RC=\d+/)
  assert.match(screen, new RegExp(`^RC=${code}$`, 'm'))
  assert.match(screen, /^BEFORE$/m)
  assert.equal(terminal.ask('#{alternate_on} #{cursor_flag} #{mouse_any_flag}'), '0 1 0')
  terminal.line('clear; stty -a')
  assert.match(await terminal.see(/echok/), /(?<!-)icanon[^]*(?<!-)echo /)
}

/** The console's own process: the child of the shell. */
function pidOf(terminal: TmuxTerminal): number {
  const shell = terminal.ask('#{pane_pid}')
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', shell], { encoding: 'utf8' })
  return Number(stdout.trim().split('\n')[0])
}

/** Sends a picture in which a worker has no fields: drawing it throws. */
async function startBrokenGateway(): Promise<{ socket: string } & AsyncDisposable> {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-broken-'))
  const socket = path.join(folder, 'admin.sock')
  const fleet = largeFleet({ workers: 1, models: 3 })
  const snapshot = { ...fleet, workers: [{ name: 'node-1', index: 0 }] }
  const server = createServer((_req, res) =>
    res.write(`${JSON.stringify({ type: 'snapshot', snapshot })}\n`),
  )
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  return {
    socket,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

suite('in tmux', () => {
  test('keys, resize, Ctrl-Z and fg, q', async (t) => {
    if (!needsTool(t, 'tmux')) return
    await using gateway = await startFakeGateway()
    await using terminal = startTmux(120, 36)
    await openConsole(terminal, gateway.socket)
    terminal.keys('l', 'Space')
    await terminal.see(/allowed gemma4:12b on node-2 · rev 42 · u undo/)
    terminal.resize(80, 24)
    await terminal.see(/1 Plac/)
    terminal.keys('C-z')
    await terminal.see(/Stopped/)
    assert.equal(terminal.ask('#{alternate_on} #{cursor_flag}'), '0 1')
    terminal.line('fg')
    await terminal.see(/1 Plac.*/)
    assert.equal(terminal.ask('#{alternate_on} #{cursor_flag}'), '1 0')
    terminal.keys('u')
    await terminal.see(/took back/)
    terminal.keys('q')
    await terminal.see(/The gateway keeps serving/)
    await isGivenBack(terminal, 0)
  })

  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
  ] as const) {
    test(`${signal} gives the terminal back`, async (t) => {
      if (!needsTool(t, 'tmux')) return
      await using gateway = await startFakeGateway()
      await using terminal = startTmux(100, 30)
      await openConsole(terminal, gateway.socket)
      process.kill(pidOf(terminal), signal)
      await isGivenBack(terminal, code)
    })
  }

  // A bug in the drawing must not vanish with the screen it was drawn on.
  test('a crash gives the terminal back, says what broke, and ends with 1', async (t) => {
    if (!needsTool(t, 'tmux')) return
    await using gateway = await startBrokenGateway()
    await using terminal = startTmux(100, 30)
    terminal.line('echo BEFORE')
    terminal.line(`${OGW} tui --socket ${gateway.socket}`)
    await terminal.see(/TypeError/)
    await isGivenBack(terminal, 1)
  })

  // Only what changes is drawn again: a stray line would stay in the picture.
  test('what libraries print and the runtime warns of is kept for the end', async (t) => {
    if (!needsTool(t, 'tmux')) return
    const folder = mkdtempSync(path.join(tmpdir(), 'ogw-stray-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const noisy = path.join(folder, 'noisy.cjs')
    const script =
      "setTimeout(() => { console.error('%s line', 'stray'); process.emitWarning('stray warning') }, 1500)"
    writeFileSync(noisy, script)
    await using gateway = await startFakeGateway()
    await using terminal = startTmux(100, 30)
    terminal.line(`export NODE_OPTIONS="--require ${noisy}"; clear`)
    await openConsole(terminal, gateway.socket)
    const before = terminal.screen()
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    assert.equal(terminal.screen(), before)
    terminal.keys('q')
    const after = await terminal.see(/stray warning/)
    assert.match(after, /^stray line$/m)
  })

  test('the gateway is stopped and started under the open console', async (t) => {
    if (!needsTool(t, 'tmux')) return
    await using terminal = startTmux(120, 36)
    const first = await startFakeGateway()
    await openConsole(terminal, first.socket)
    const { socket } = first
    await first[Symbol.asyncDispose]()
    await terminal.see(/STALE/)
    terminal.keys('Space')
    await terminal.see(/not sent/)
    mkdirSync(path.dirname(socket), { recursive: true })
    await using second = await startFakeGateway({ socket })
    await terminal.see(/the gateway is back/)
    assert.deepEqual(second.changes(), [])
    terminal.keys('q')
    await isGivenBack(terminal, 0)
  })
})

// B162: a pipe, a cron job or ssh without -t gets a sentence, not a stack.
suite('without a terminal', () => {
  const run = (env: NodeJS.ProcessEnv = {}) =>
    spawnSync(OGW, ['tui'], {
      encoding: 'utf8',
      timeout: 30_000,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })

  test('one line on stderr and exit code 2', () => {
    const { status, stdout, stderr } = run()
    assert.equal(status, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /^error: the console needs a terminal, and stdin is none; .*\n$/)
  })

  test('a dumb terminal is refused in tmux', async (t) => {
    if (!needsTool(t, 'tmux')) return
    await using terminal = startTmux(100, 20)
    terminal.line(`TERM=dumb ${OGW} tui; echo RC=$?`)
    assert.match(await terminal.see(/RC=\d/), /dumb terminal[^]*RC=2/)
  })
})

// The issue's own scene: a cell is toggled and the next request obeys it.
test(
  'in front of the demo fleet, a denied cell is obeyed by the next request',
  { timeout: 110_000 },
  async (t) => {
    if (!needsTool(t, 'tmux')) return
    const demo = spawn(OGW, ['demo', '--workers', '1', '--models', '3', '--port', '21435'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      let said = ''
      for await (const chunk of demo.stdout) {
        said += String(chunk)
        if (said.includes('admin.sock')) break
      }
      const socket = /--socket (\S+)/.exec(said)![1]!
      const url = /(http:\/\/[\d.:]+)/.exec(said)![1]!
      await using terminal = startTmux(100, 30)
      await openConsole(terminal, socket)
      const screen = await terminal.see(/^> .*\[/m)
      const model = /^>\s+(\S+)/m.exec(screen)![1]!
      terminal.keys('d')
      await terminal.see(/no worker that has/)
      await new Promise((resolve) => setTimeout(resolve, 400))
      terminal.keys('y')
      await terminal.see(/✗ blocked ↳/)
      const answer = await fetch(`${url}/api/generate`, {
        method: 'POST',
        body: JSON.stringify({ model, prompt: 'hello' }),
      })
      assert.equal(answer.status, 403)
      terminal.keys('q')
      await isGivenBack(terminal, 0)
    } finally {
      demo.kill('SIGTERM')
    }
  },
)
