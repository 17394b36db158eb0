// The gateway itself: status, state files, events, audit.

import type { OutputOf } from '../../gateway/contract/schema.ts'
import type {
  AuditEntry,
  EventRow,
  StateFile,
  Status,
} from '../../gateway/contract/schema/gateway.ts'
import { type Cell, cell, foreign, type TableView, type Tone } from './cell.ts'
import { sanitise } from './text.ts'
import { age, bytes, duration, NONE, percent, plural, rate } from './units.ts'

export function presentStatus(status: Status): [string, Cell][] {
  const { workers, queue, slots, traffic } = status
  const drained = workers.draining > 0 ? `, ${workers.draining} draining` : ''
  return [
    [
      'gateway',
      foreign(
        `${status.version} on ${status.host}, pid ${status.pid}, up ${duration(status.uptime_s * 1000)}`,
      ),
    ],
    [
      'state',
      status.draining ? cell('draining, takes no new requests', 'warn') : cell('serving', 'good'),
    ],
    ['listen', foreign(status.listen)],
    ['metrics', foreign(status.ops_listen ?? 'off')],
    ['socket', foreign(status.socket)],
    ['config', configCell(status)],
    [
      'workers',
      cell(
        `${workers.up} of ${workers.total} up${workers.down > 0 ? `, ${workers.down} down` : ''}${drained}`,
        workers.down > 0 ? 'warn' : 'plain',
      ),
    ],
    ['models', cell(String(status.models))],
    ...gpuFact(status),
    ['slots', cell(`${slots.used} of ${slots.limit} used`)],
    ['queue', cell(`${queue.waiting} of ${queue.limit} waiting`)],
    ['traffic', cell(trafficInShort(traffic))],
    ['placement', cell(`revision ${status.revision}`)],
    ...status.problems.map((problem): [string, Cell] => ['problem', foreign(problem, 'bad')]),
  ]
}

/** Nothing where nothing is read: most fleets begin without. */
function gpuFact({ gpus }: Status): [string, Cell][] {
  if (gpus.count === 0) return []
  const { vram_used_bytes: used, vram_total_bytes: total } = gpus
  const parts = [
    plural(gpus.count, 'GPU'),
    total === null ? '' : `${bytes(used)} of ${bytes(total)}`,
    gpus.temperature_c === null ? '' : `${Math.round(gpus.temperature_c)} °C`,
    gpus.power_w === null ? '' : `${Math.round(gpus.power_w)} W`,
  ]
  return [['gpus', cell(parts.filter((part) => part !== '').join(', '))]]
}

function configCell({ config, drift }: Status): Cell {
  if (config.path === null) return cell('no file, the defaults hold')
  if (config.reload_error !== null) {
    return foreign(`${config.path}: the last reload was refused: ${config.reload_error}`, 'bad')
  }
  if (drift.problems.length > 0) {
    return foreign(`${config.path} is not valid now: ${drift.problems.join('; ')}`, 'warn')
  }
  if (drift.state !== 'differs') return foreign(`${config.path}, as it runs`)
  return foreign(`${config.path} differs from what runs: ${drift.keys.join(', ')}`, 'warn')
}

function trafficInShort(traffic: Status['traffic']): string {
  const errors = traffic.error_ratio === null ? NONE : percent(traffic.error_ratio)
  return `${rate(traffic.requests_per_s)} requests, ${rate(traffic.output_tokens_per_s)} tokens, ${errors} errors`
}

export function presentStorage(files: readonly StateFile[], now: number): TableView {
  return {
    columns: [
      { header: 'NAME' },
      { header: 'SIZE', align: 'right' },
      { header: 'WRITTEN', align: 'right' },
      { header: 'HOLDS', cut: 'end' },
      { header: 'PATH', cut: 'middle' },
      { header: 'ERROR', cut: 'end' },
    ],
    rows: files.map((file) => [
      cell(file.name),
      cell(file.exists ? bytes(file.size_bytes) : NONE),
      cell(file.exists ? age(file.modified_at, now) : 'never'),
      foreign(file.holds),
      foreign(file.path),
      foreign(file.error, 'bad'),
    ]),
  }
}

const SEVERITY_TONE: Readonly<Record<EventRow['severity'], Tone>> = {
  info: 'plain',
  warn: 'warn',
  error: 'bad',
}

/** One event in one line, its parts in the same order always. */
export function presentEvent(event: EventRow): Cell {
  const actor = event.actor === null ? '' : ` (${event.actor})`
  const object = event.object === '' ? '' : ` ${event.object}`
  const text = `${event.at} ${event.severity.padEnd(5)} ${event.event}${object}: ${event.detail}${actor}`
  return { text: sanitise(text), tone: SEVERITY_TONE[event.severity] }
}

export function presentAudit(entries: readonly AuditEntry[]): TableView {
  return {
    columns: [
      { header: 'AT' },
      { header: 'ACTOR' },
      { header: 'OPERATION' },
      { header: 'OUTCOME' },
      { header: 'MESSAGE', cut: 'end' },
    ],
    rows: entries.map((entry) => [
      cell(entry.at),
      foreign(entry.actor),
      foreign(entry.operation),
      cell(entry.outcome, entry.outcome === 'refused' ? 'bad' : 'plain'),
      foreign(entry.message),
    ]),
  }
}

/** What would run where, in one sentence. */
export function explanationInShort(explained: OutputOf<'explain'>): string {
  const model =
    explained.asked_model === null
      ? explained.model
      : `${explained.asked_model} (${explained.model})`
  switch (explained.outcome) {
    case 'granted':
      return sanitise(`${model} would run on ${explained.worker ?? 'a worker'}`)
    case 'queued':
      return sanitise(`${model} would wait for a slot`)
    case 'refused':
      return sanitise(
        `${model} would be refused: ${explained.answer?.status ?? ''} ${explained.answer?.message ?? ''}`,
      )
  }
}
