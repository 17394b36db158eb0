// A program called nvidia-smi for tests: a folder to put in front of PATH, and a file that says
// what the program does. It looks at the file before each tick, so that a test changes its mind
// while it runs. Written in sh: what starts it must find it as it would find the real one.

import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** One GPU each, but for `two`, `lost` and `mig`. */
export type Mood =
  | 'idle'
  | 'load'
  | 'na'
  | 'two'
  | 'full0'
  | 'mig'
  /** One of two GPUs fell off the bus: rows, a line of trouble, exit 15. */
  | 'lost'
  | 'hang'
  | 'dies'
  | 'failed'
  | 'empty'
  | 'garbage'
  /** A driver that does not know the newest field. */
  | 'old'

export interface FakeNvidiaSmi extends Disposable {
  /** For `env` of what starts it. */
  env: Record<string, string>
  folder: string
  be(mood: Mood): void
  /** Makes the program exist; false: it is not installed, or not executable. */
  install(how?: 'executable' | 'not executable'): void
  remove(): void
  /** How often it was started to read GPUs. */
  starts(): number
  /** The process of each start. */
  pids(): number[]
}

const SCRIPT = `#!/bin/sh
here=$(dirname -- "$0")
case "$1" in
  -L)
    echo 'GPU 0: NVIDIA H100 (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000000)'
    echo '  MIG 1g.10gb     Device  0: (UUID: MIG-cccccccc-0000-0000-0000-000000000000)'
    exit 0;;
esac
echo $$ >> "$here/starts"
row0() { echo "0, GPU-aaaaaaaa-0000-0000-0000-000000000000, NVIDIA GeForce RTX 4090, $1"; }
row1() { echo "1, GPU-bbbbbbbb-0000-0000-0000-000000000000, NVIDIA, Inc. X, $1"; }
while :; do
  case "$(cat "$here/mood")" in
    idle) row0 '0, 596, 24564, 43, 26.20, 434';;
    load) row0 '98, 22000, 24564, 71, 402.70, 434';;
    na) row0 '[N/A], [Not Supported], N/A, [Unknown Error], [Insufficient Permissions], [N/A]';;
    two) row0 '0, 1000, 24564, 40, 30, 434'; row1 '50, 2000, 24564, 60, 200, 434';;
    full0) row0 '0, 24000, 24564, 40, 30, 434'; row1 '0, 1000, 24564, 60, 200, 434';;
    mig) row0 '[N/A], 40000, 81559, 50, 300, 500';;
    lost) row0 '0, 1000, 24564, 40, 30, 434'
      echo 'Unable to determine the device handle for GPU0001: 0000:02:00.0: GPU is lost.'; exit 15;;
    hang) exec sleep 600;;
    dies) exit 1;;
    failed) echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'
      exit 9;;
    empty) exit 0;;
    garbage) head -c 5000000 /dev/zero | tr '\\0' x; exec sleep 600;;
    old)
      case "$1" in
        *reserved*) echo 'Field "memory.reserved" is not a valid field to query.'; exit 2;;
      esac
      row0 '5, 600, 24564, 43, 26.20';;
  esac
  sleep 0.1
done
`

export function fakeNvidiaSmi(mood: Mood): FakeNvidiaSmi {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-smi-'))
  const program = path.join(folder, 'nvidia-smi')
  const fake: FakeNvidiaSmi = {
    env: { PATH: `${folder}:${process.env['PATH'] ?? ''}` },
    folder,
    be(next) {
      // Renamed into place: the program never reads half a word.
      writeFileSync(path.join(folder, 'mood.new'), next)
      renameSync(path.join(folder, 'mood.new'), path.join(folder, 'mood'))
    },
    install(how = 'executable') {
      writeFileSync(program, SCRIPT)
      chmodSync(program, how === 'executable' ? 0o755 : 0o644)
    },
    remove: () => rmSync(program, { force: true }),
    starts: () => fake.pids().length,
    pids() {
      try {
        return readFileSync(path.join(folder, 'starts'), 'utf8').trim().split('\n').map(Number)
      } catch {
        return [] // never started
      }
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
  fake.be(mood)
  fake.install()
  return fake
}
