// What each route asks of its visitor. Pure: a table. Preflights and unknown paths ask nothing.

import type { RouteNeed } from '../access/gatekeeper.ts'
import type { DiscoveryRoute, Route } from './routes.ts'

/** Clients look with these whether anybody is there, before they have a key to send. */
const DISCOVERY: Readonly<Record<DiscoveryRoute, RouteNeed | undefined>> = {
  root: undefined,
  hello: undefined,
  version: { scope: 'read', anonymous: 'version' },
  status: { scope: 'read', anonymous: 'version' },
  recommendations: { scope: 'read', anonymous: 'version' },
  tags: { scope: 'read', anonymous: 'tags' },
  ps: { scope: 'read', anonymous: 'ps' },
  models: { scope: 'read', anonymous: 'models' },
}

/** Undefined = open to everyone. */
export function needOf(route: Route): RouteNeed | undefined {
  switch (route.kind) {
    case 'discovery':
      return DISCOVERY[route.name]
    case 'model':
      return { scope: 'read', anonymous: 'models' }
    case 'show':
      return { scope: 'read', anonymous: 'show' }
    case 'inference':
    case 'count_tokens':
      return { scope: 'infer' }
    case 'management':
      return { scope: 'manage' }
    case 'account':
      return { scope: 'read' }
  }
}
