import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readExporterPage } from '../../../../src/gateway/fleet/telemetry/exporters.ts'
import { ogwJson, readOgwJson } from '../../../../src/gateway/fleet/telemetry/ogw-json.ts'
import { parsePrometheusText } from '../../../../src/gateway/fleet/telemetry/prometheus-text.ts'

const MIB = 1024 * 1024

const LINES: readonly [
  line: string,
  name: string,
  labels: Record<string, string>,
  value: number,
][] = [
  ['a 1', 'a', {}, 1],
  ['a{} 1.5e3', 'a', {}, 1500],
  ['a{b="c"} 2 1712345678000', 'a', { b: 'c' }, 2],
  ['a{b="c",} 2', 'a', { b: 'c' }, 2],
  ['a { b = "c" , d = "e" } 3', 'a', {}, Number.NaN],
  ['a{ b = "c" , d = "e" } 3', 'a', { b: 'c', d: 'e' }, 3],
  ['a{b="x } y",c="\\"q\\" \\\\ \\n"} 4', 'a', { b: 'x } y', c: '"q" \\ \n' }, 4],
  ['a_total{b="c"} 5 # {trace_id="1"} 0.5', 'a_total', { b: 'c' }, 5],
  ['a{b="open 1', 'a', {}, Number.NaN],
  ['a NaN', 'a', {}, Number.NaN],
  ['a +Inf', 'a', {}, Number.NaN],
  ['# HELP a b', 'a', {}, Number.NaN],
  ['# EOF', 'a', {}, Number.NaN],
  ['a', 'a', {}, Number.NaN],
  ['1a 2', 'a', {}, Number.NaN],
]
for (const [line, name, labels, value] of LINES) {
  test(`Prometheus text: ${line}`, () => {
    const samples = parsePrometheusText(`${line}\r\n\n`)
    assert.deepEqual(samples, Number.isNaN(value) ? [] : [{ name, labels, value }])
  })
}

const U = 'aaaaaaaa-0000-1111-2222-333333333333'
const PAGES: Readonly<Record<string, { text: string; gpu: Record<string, unknown> }>> = {
  'dcgm-exporter': {
    text: `# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-${U}",device="nvidia0",modelName="NVIDIA H100"} 87
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-${U}",device="nvidia0",modelName="NVIDIA H100"} 1000
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-${U}",device="nvidia0",modelName="NVIDIA H100"} 500
DCGM_FI_DEV_FB_RESERVED{gpu="0",UUID="GPU-${U}",device="nvidia0",modelName="NVIDIA H100"} 100
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-${U}"} 61
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-${U}"} 9223372036854775794`,
    gpu: {
      id: `GPU-${U}`,
      index: 0,
      name: 'NVIDIA H100',
      utilization: 0.87,
      vramUsedBytes: 1000 * MIB,
      vramTotalBytes: 1600 * MIB,
      vramReservedBytes: 100 * MIB,
      temperatureC: 61,
      powerW: undefined,
    },
  },
  'dcgm-exporter with MIG': {
    text: `DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-${U}"} 0.25
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-${U}",GPU_I_ID="3",GPU_I_PROFILE="1g.10gb"} 0.9`,
    gpu: { id: `GPU-${U}`, utilization: 0.25, vramTotalBytes: undefined },
  },
  nvidia_gpu_exporter: {
    text: `nvidia_smi_utilization_gpu_ratio{uuid="${U}"} 0.5
nvidia_smi_memory_used_bytes{uuid="${U}"} 2e9
nvidia_smi_memory_total_bytes{uuid="${U}"} 1.6e+10
nvidia_smi_temperature_gpu{uuid="${U}"} 43
nvidia_smi_power_draw_watts{uuid="${U}"} 26.2`,
    gpu: {
      id: `GPU-${U}`,
      index: undefined,
      name: '',
      utilization: 0.5,
      vramUsedBytes: 2e9,
      vramTotalBytes: 16e9,
      vramReservedBytes: undefined,
      temperatureC: 43,
      powerW: 26.2,
    },
  },
  'all-smi': {
    text: `all_smi_gpu_utilization{gpu="Apple M4 Max",gpu_uuid="x1",gpu_index="0"} 12.5
all_smi_gpu_memory_used_bytes{gpu="Apple M4 Max",gpu_uuid="x1",gpu_index="0"} 5
all_smi_gpu_memory_total_bytes{gpu="Apple M4 Max",gpu_uuid="x1",gpu_index="0"} 10
all_smi_gpu_temperature_celsius{gpu="Apple M4 Max",gpu_uuid="x1",gpu_index="0"} 50
all_smi_gpu_power_consumption_watts{gpu="Apple M4 Max",gpu_uuid="x1",gpu_index="0"} 20`,
    gpu: {
      id: 'all-smi-x1',
      index: 0,
      name: 'Apple M4 Max',
      utilization: 0.125,
      vramUsedBytes: 5,
      vramTotalBytes: 10,
      vramReservedBytes: undefined,
      temperatureC: 50,
      powerW: 20,
    },
  },
  'AMD device-metrics-exporter': {
    text: `amd_gpu_gfx_activity{gpu_id="0",card_model="MI300X"} 30
amd_gpu_used_vram{gpu_id="0",card_model="MI300X"} 100
amd_gpu_total_vram{gpu_id="0",card_model="MI300X"} 200
amd_gpu_edge_temperature{gpu_id="0",card_model="MI300X"} 45
amd_gpu_junction_temperature{gpu_id="0",card_model="MI300X"} 55
amd_gpu_package_power{gpu_id="0",card_model="MI300X"} 300`,
    gpu: {
      index: 0,
      name: 'MI300X',
      utilization: 0.3,
      vramUsedBytes: 100 * MIB,
      vramTotalBytes: 200 * MIB,
      temperatureC: 55,
      powerW: 300,
    },
  },
}
for (const [name, { text, gpu }] of Object.entries(PAGES)) {
  test(`a page of ${name}`, () => {
    const { gpus } = readExporterPage(text)
    assert.equal(gpus.length, 1)
    assert.deepEqual({ ...gpus[0], ...gpu }, gpus[0])
  })
}

test('node_exporter: memory of the host and its AMD card', () => {
  const { gpus, memory } = readExporterPage(`node_memory_MemTotal_bytes 6.4e+10
node_memory_MemAvailable_bytes 4e+10
node_drm_gpu_busy_percent{card="card0"} 5
node_drm_memory_vram_used_bytes{card="card0"} 10
node_drm_memory_vram_size_bytes{card="card0"} 20`)
  assert.deepEqual(memory, { usedBytes: 2.4e10, totalBytes: 6.4e10 })
  assert.equal(gpus[0]?.vramTotalBytes, 20)
})

test('two GPUs stay two; a page of something else is nothing', () => {
  const two = [0, 1].map((gpu) => `DCGM_FI_DEV_GPU_UTIL{gpu="${gpu}",UUID="GPU-${gpu}"} 1`)
  assert.equal(readExporterPage(two.join('\n')).gpus.length, 2)
  assert.deepEqual(readExporterPage('<html>\nup 1\n'), { gpus: [], memory: undefined })
})

test('another ogw reads what this one writes', () => {
  const { gpus } = readExporterPage(PAGES['dcgm-exporter']?.text ?? '')
  const reading = { gpus, memory: { usedBytes: 1, totalBytes: 2 } }
  assert.deepEqual(readOgwJson(JSON.parse(JSON.stringify(ogwJson(reading)))), reading)
})

test('the flat form, with figures that make no sense left out', () => {
  const reading = readOgwJson({
    gpu_util: 50,
    vram_used_bytes: 5,
    vram_total_bytes: -1,
    power_w: 'x',
  })
  assert.deepEqual(reading?.gpus, [
    {
      id: 'gpu',
      index: undefined,
      name: '',
      utilization: 0.5,
      vramUsedBytes: 5,
      vramTotalBytes: undefined,
      vramReservedBytes: undefined,
      temperatureC: undefined,
      powerW: undefined,
    },
  ])
  for (const other of [undefined, null, [], 'x', {}, { gpus: [] }, { status: 'ok' }]) {
    assert.equal(readOgwJson(other), undefined)
  }
})
