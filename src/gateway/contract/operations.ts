// All that an operator can ask of a running gateway. Server, client, CLI, TUI and
// docs/admin-api.md read this one table; the shapes of each operation stand in schema.ts, of which
// clients load only the types.

interface Operation {
  /** Reads are GET with the input as query parameters, changes are POST with it as a JSON body. */
  method: 'GET' | 'POST'
  path: string
  /** Changes something: it is audited and takes dry_run, force and if_revision. */
  changes: boolean
  /** Answers line by line (NDJSON) until it ends or the caller leaves, instead of once. */
  stream: boolean
  /** One line for docs/admin-api.md and for help texts. */
  summary: string
}

const read = <P extends string>(path: P, summary: string) =>
  ({ method: 'GET', path, changes: false, stream: false, summary }) as const
const follow = <P extends string>(path: P, summary: string) =>
  ({ method: 'GET', path, changes: false, stream: true, summary }) as const
const change = <P extends string>(path: P, summary: string) =>
  ({ method: 'POST', path, changes: true, stream: false, summary }) as const
const changeSlowly = <P extends string>(path: P, summary: string) =>
  ({ method: 'POST', path, changes: true, stream: true, summary }) as const

export const operations = {
  status: read('/v1/status', 'The gateway in one page: what runs and what is wrong.'),
  health: read('/v1/health', 'Healthy or not, and why not.'),
  snapshot: read('/v1/snapshot', 'All that a console shows, once.'),
  watch: follow('/v1/watch', 'The snapshot, then what changes, at most four times a second.'),
  names: read('/v1/names', 'Worker and model names, for completion.'),

  'workers.list': read('/v1/workers', 'Every worker, in config order.'),
  'workers.show': read('/v1/workers/show', 'One worker.'),
  'workers.drain': change('/v1/workers/drain', 'Send no new requests there. Kept over restarts.'),
  'workers.resume': change('/v1/workers/resume', 'End the drain.'),
  'workers.probe': change('/v1/workers/probe', 'Probe now, and read the inventory again.'),

  'placement.show': read('/v1/placement', 'The matrix: models by workers.'),
  'placement.why': read('/v1/placement/why', 'Which rule decides for a model, and against which.'),
  'placement.allow': change('/v1/placement/allow', 'Ensure an allow rule, drop its opposite.'),
  'placement.deny': change('/v1/placement/deny', 'Ensure a deny rule, drop its opposite.'),
  'placement.clear': change('/v1/placement/clear', 'Remove the rules of a pattern.'),
  'placement.toggle': change('/v1/placement/toggle', 'Invert cells, or remove their exact rule.'),
  'placement.mode': change('/v1/placement/mode', 'What holds where no rule matches.'),
  'placement.preset': change('/v1/placement/preset', 'Replace all rules by a ready set.'),
  'placement.set': change('/v1/placement/set', 'Replace the whole rule set of some workers.'),
  'placement.reset': change('/v1/placement/reset', 'Drop the override: the config holds again.'),
  'placement.export': read('/v1/placement/export', 'All overrides, sorted, to keep in git.'),
  'placement.apply': change('/v1/placement/apply', 'Make the overrides exactly those of a file.'),
  'placement.history': read('/v1/placement/history', 'Every edit, newest first.'),
  'placement.undo': change('/v1/placement/undo', 'Take back the last edit, or the one named.'),

  'models.list': read('/v1/models', 'Every model any worker has, unfiltered.'),
  'models.show': read('/v1/models/show', 'One model on all workers.'),
  'models.load': change('/v1/models/load', 'Load a model where placement allows it.'),
  'models.unload': change('/v1/models/unload', 'Free the memory that a model holds.'),
  'models.pull': changeSlowly('/v1/models/pull', 'Download a model to workers, with progress.'),
  'models.rm': change('/v1/models/rm', 'Delete a model from workers.'),

  'requests.list': read('/v1/requests', 'Requests that run, wait, or ended a moment ago.'),
  'requests.show': read('/v1/requests/show', 'One request with every decision made for it.'),
  'requests.cancel': change('/v1/requests/cancel', 'End one request.'),

  explain: read('/v1/explain', 'Gates and score of each worker for a question.'),

  'keys.list': read('/v1/keys', 'Every key, without the key itself.'),
  'keys.create': change('/v1/keys/create', 'Make a key; it is in this answer and nowhere else.'),
  'keys.add_ed25519': change('/v1/keys/add-ed25519', 'Let the ollama CLI in by its own key.'),
  'keys.revoke': change('/v1/keys/revoke', 'Let nobody in with a key any more.'),
  'tenants.list': read('/v1/tenants', 'Every tenant, with its settings as they are in force.'),
  'tenants.show': read('/v1/tenants/show', 'One tenant.'),
  'tenants.use': read('/v1/tenants/use', 'Actors and keys of a tenant, those in use first.'),
  'tenants.set': change('/v1/tenants/set', 'Set limits of a tenant over the config, or make one.'),
  'credits.show': read('/v1/credits', 'What tenants and actors used and have left.'),
  'credits.grant': change('/v1/credits/grant', 'Add tokens to what may be used in this window.'),
  'credits.reset': change('/v1/credits/reset', 'Count from zero again in this window.'),
  usage: read('/v1/usage', 'Sums of what was used.'),

  'config.show': read('/v1/config', 'The config that runs, secrets masked.'),
  'config.drift': read('/v1/config/drift', 'How the file differs from what runs.'),
  'config.reload': change('/v1/config/reload', 'Read the config file again, as one transaction.'),

  'storage.list': read('/v1/storage', 'Every state file: path, size, last write, what it holds.'),
  'storage.flush': read(
    '/v1/storage/flush',
    'Write what is only in memory yet; where all of it is.',
  ),
  events: read('/v1/events', 'What happened lately, oldest first.'),
  'events.follow': follow('/v1/events/follow', 'What happened lately, then what happens.'),
  'audit.list': read('/v1/audit', 'Changes that operators made, newest first.'),
} as const satisfies Record<string, Operation>

export type OperationName = keyof typeof operations

/** Operations that answer line by line. */
export type StreamName = {
  [N in OperationName]: (typeof operations)[N]['stream'] extends true ? N : never
}[OperationName]

/** Operations that answer once. */
export type CallName = Exclude<OperationName, StreamName>
