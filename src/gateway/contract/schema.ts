// The shapes of all operations. The gateway checks inputs with them; clients import only types,
// because zod takes longer to load than a command may take.

import type { z } from 'zod'
import type { OperationName } from './operations.ts'
import { accessShapes } from './schema/access.ts'
import { gatewayShapes } from './schema/gateway.ts'
import { modelShapes } from './schema/models.ts'
import { placementShapes } from './schema/placement.ts'
import { requestShapes } from './schema/requests.ts'
import { snapshotShapes } from './schema/snapshot.ts'
import { tenantShapes } from './schema/tenants.ts'
import { workerShapes } from './schema/workers.ts'

export const shapes = {
  ...gatewayShapes,
  ...snapshotShapes,
  ...workerShapes,
  ...placementShapes,
  ...modelShapes,
  ...requestShapes,
  ...accessShapes,
  ...tenantShapes,
} satisfies Record<OperationName, { input: z.ZodType; output: z.ZodType }>

/** What a caller passes. */
export type InputOf<N extends OperationName> = z.input<(typeof shapes)[N]['input']>
/** What a handler gets. */
export type ParsedInputOf<N extends OperationName> = z.output<(typeof shapes)[N]['input']>
/** The answer, or one line of it where the operation streams. */
export type OutputOf<N extends OperationName> = z.output<(typeof shapes)[N]['output']>
