// All that a console shows, and how it is kept up to date. The stream begins with one snapshot;
// each change after it holds only the rows that differ. A message is whole in itself: rows replace
// rows of the same name, so that a slow reader that missed some is right again with the next one.

import { z } from 'zod'
import { Mono, Nothing } from './common.ts'
import { EventRow, GatewaySection, Traffic } from './gateway.ts'
import { ModelRow } from './models.ts'
import { HistoryEntry, WorkerRules } from './placement.ts'
import { RequestRow } from './requests.ts'
import { AccessSection, TenantLine } from './tenants.ts'
import { WorkerRow } from './workers.ts'

export const PlacementSection = z.object({
  revision: z.int(),
  /** The newest edit: what `undo` would take back. */
  last: HistoryEntry.omit({ before: true, after: true }).nullable(),
  /** Overrides for workers that the config no longer has. */
  orphans: z.array(WorkerRules),
})
export type PlacementSection = z.infer<typeof PlacementSection>

export const Snapshot = z.object({
  /** The gateway's monotonic clock when this was made; ages are differences to it. */
  mono: Mono,
  gateway: GatewaySection,
  traffic: Traffic,
  placement: PlacementSection,
  /** In config order. */
  workers: z.array(WorkerRow),
  /** Sorted by name. */
  models: z.array(ModelRow),
  /** Oldest first: running, waiting, and those that ended in the last minute. */
  requests: z.array(RequestRow),
  /** Absent, like the tenants, where the gateway is older than they are. */
  access: AccessSection.optional(),
  /** Sorted by name. */
  tenants: z.array(TenantLine).optional(),
  /** Newest last, at most 200. */
  events: z.array(EventRow),
})
export type Snapshot = z.infer<typeof Snapshot>

/** Rows that are new or differ, and the names of those that are gone. */
const changesOf = <T extends z.ZodType>(row: T) =>
  z.object({ set: z.array(row), gone: z.array(z.string()) })

export const WatchLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('snapshot'), snapshot: Snapshot }),
  z.object({
    type: z.literal('change'),
    mono: Mono,
    gateway: GatewaySection.optional(),
    traffic: Traffic.optional(),
    placement: PlacementSection.optional(),
    workers: changesOf(WorkerRow).optional(),
    models: changesOf(ModelRow).optional(),
    requests: changesOf(RequestRow).optional(),
    access: AccessSection.optional(),
    tenants: changesOf(TenantLine).optional(),
    /** Only the new ones. */
    events: z.array(EventRow).optional(),
  }),
  /** Sent every two seconds, so that a console notices a gateway that froze. */
  z.object({ type: z.literal('heartbeat'), mono: Mono }),
])
export type WatchLine = z.infer<typeof WatchLine>

export const snapshotShapes = {
  snapshot: { input: Nothing, output: Snapshot },
  watch: { input: Nothing, output: WatchLine },
}
