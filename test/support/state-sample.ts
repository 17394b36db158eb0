// One good content for each state file, as a gateway writes it.

import type { StateRole } from '../../src/gateway/state/state-files.ts'

const RULES = { mode: 'allow_all', allowed_models: ['qwen3:8b'], denied_models: [] }

/** `revision` tells two samples apart: it stands in every document that has one. */
export function stateSample(revision = 1): Record<StateRole, string> {
  const json = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`
  return {
    model_placement_file: json({
      version: 1,
      revision,
      overrides: [{ worker: 'node-1', ...RULES }],
    }),
    placement_history_file: Array.from({ length: revision }, (_, index) => edit(index + 1)).join(
      '',
    ),
    worker_performance_file: json({
      version: 1,
      workers: {
        'node-1': {
          'qwen3:8b': {
            prompt_samples: 0,
            output_per_s: 40,
            output_samples: revision,
            updated_at: 1,
          },
        },
      },
    }),
    workers_file: json({ version: 1, revision, draining: [] }),
    keys_file: json({ version: 1, revision, keys: [storedKey()] }),
    tenants_file: json({ version: 1, revision, tenants: [{ name: 'red', weight: 2 }] }),
    credits_file: json({
      version: 1,
      accounts: [{ tenant: 'red', account: null, window_start: 0, used: revision, granted: 0 }],
    }),
    usage_file: `${JSON.stringify({ version: 1, at: 1, tenant: 'red', actor: 'anna', model: 'qwen3:8b', requests: 1, prompt_tokens: 7, output_tokens: revision })}\n`,
    audit_file: `${JSON.stringify({ at: '2026-05-01T12:00:00.000Z', actor: 'anna@cli', verified: false, operation: 'placement.allow', input: {}, outcome: 'changed', before: null, after: null, message: `edit ${revision}` })}\n`,
  }
}

/** `revokedAt` null: it lets somebody in. */
export function storedKey(id = 'k0000000001', revokedAt: string | null = null) {
  return {
    id,
    kind: 'secret',
    verifier: id.padEnd(64, '0'),
    tenant: 'red',
    scope: 'infer',
    created_at: '2026-05-01T12:00:00.000Z',
    created_by: 'anna@cli',
    expires_ms: null,
    allowed_models: [],
    denied_models: [],
    trust_identity_headers: false,
    revoked_at: revokedAt,
  }
}

function edit(id: number): string {
  const after = [{ worker: 'node-1', rules: RULES }]
  const before = [{ worker: 'node-1', rules: null }]
  const fields = { at: '2026-05-01T12:00:00.000Z', actor: 'anna@cli', operation: 'allow qwen3:8b' }
  return `${JSON.stringify({ version: 1, id, ...fields, before, after, undoes: null })}\n`
}
