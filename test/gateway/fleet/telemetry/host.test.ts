// Memory and AMD cards of a machine, from files that stand in for those of the kernel.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { readAmdGpus } from '../../../../src/gateway/fleet/telemetry/amd-sysfs.ts'
import {
  parseMeminfo,
  readHostMemory,
} from '../../../../src/gateway/fleet/telemetry/host-memory.ts'

const root = mkdtempSync(path.join(tmpdir(), 'ogw-host-'))
after(() => rmSync(root, { recursive: true }))

function files(name: string, contents: Readonly<Record<string, string>>): string {
  const folder = path.join(root, name)
  for (const [file, text] of Object.entries(contents)) {
    const full = path.join(folder, file)
    mkdirSync(path.dirname(full), { recursive: true })
    writeFileSync(full, `${text}\n`)
  }
  return folder
}

const MEMINFO = 'MemTotal:       65536 kB\nMemFree:  100 kB\nMemAvailable:   49152 kB'
const MIB = 1024 * 1024

test('meminfo: used is what is not available', () => {
  assert.deepEqual(parseMeminfo(`${MEMINFO}\n`), { usedBytes: 16 * MIB, totalBytes: 64 * MIB })
  assert.equal(parseMeminfo('MemTotal: 1 kB\n'), undefined)
})

const CGROUPS: readonly [string, Record<string, string>, used: number, total: number][] = [
  ['none', {}, 16, 64],
  ['v2 without a limit', { 'memory.max': 'max', 'memory.current': String(9 * MIB) }, 16, 64],
  [
    'v2 with a limit',
    {
      'memory.max': String(32 * MIB),
      'memory.current': String(20 * MIB),
      'memory.stat': `anon 5\ninactive_file ${8 * MIB}`,
    },
    12,
    32,
  ],
  [
    'v1 with a limit',
    {
      'memory/memory.limit_in_bytes': String(32 * MIB),
      'memory/memory.usage_in_bytes': String(20 * MIB),
      'memory/memory.stat': `total_inactive_file ${4 * MIB}`,
    },
    16,
    32,
  ],
  [
    'v1 without a limit',
    {
      'memory/memory.limit_in_bytes': '9223372036854771712',
      'memory/memory.usage_in_bytes': String(20 * MIB),
    },
    16,
    64,
  ],
]
for (const [name, contents, used, total] of CGROUPS) {
  test(`host memory, cgroup: ${name}`, async () => {
    const cgroup = files(name, contents)
    const { meminfo } = { meminfo: path.join(files('proc', { meminfo: MEMINFO }), 'meminfo') }
    assert.deepEqual(await readHostMemory({ meminfo, cgroup }), {
      usedBytes: used * MIB,
      totalBytes: total * MIB,
    })
  })
}

test('this machine tells its memory, whatever it is', async () => {
  const memory = await readHostMemory()
  assert.ok(
    memory !== undefined && memory.totalBytes > MIB && memory.usedBytes <= memory.totalBytes,
  )
})

test('AMD cards are read from sysfs; other cards and connectors are not', async () => {
  const drm = files('drm', {
    'card0/device/vendor': '0x10de',
    'card0/device/gpu_busy_percent': '10',
    'card1/device/vendor': '0x1002',
    'card1/device/gpu_busy_percent': '42',
    'card1/device/mem_info_vram_used': '1000',
    'card1/device/mem_info_vram_total': '4000',
    'card1/device/product_name': 'Radeon RX 7900 XTX',
    'card1/device/hwmon/hwmon3/temp1_input': '55000',
    'card1/device/hwmon/hwmon3/power1_average': '120500000',
    'card1-DP-1/status': 'connected',
    'card2/device/vendor': '0x1002',
    'card2/device/gpu_busy_percent': 'busy',
    'card2/device/mem_info_vram_total': '0',
  })
  const [first, second, ...more] = await readAmdGpus(drm)
  assert.deepEqual(more, [])
  const radeon = [first, second].find((gpu) => gpu?.utilization !== undefined)
  assert.ok(radeon)
  const { id, ...figures } = radeon
  assert.match(id, /^amd-/)
  assert.deepEqual(figures, {
    index: undefined,
    name: 'Radeon RX 7900 XTX',
    utilization: 0.42,
    vramUsedBytes: 1000,
    vramTotalBytes: 4000,
    vramReservedBytes: undefined,
    temperatureC: 55,
    powerW: 120.5,
  })
  assert.deepEqual(await readAmdGpus(path.join(root, 'nothing')), [])
})
