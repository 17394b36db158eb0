// What the gateway says where it knows a path and will not go there.

import { GatewayError } from '../errors.ts'
import type { ManagementRoute } from './routes.ts'

const DOES: Readonly<Record<ManagementRoute, string>> = {
  pull: 'pulling models is',
  push: 'pushing models is',
  create: 'creating models is',
  copy: 'copying models is',
  delete: 'deleting models is',
  blobs: 'uploading model files is',
}

/** 403 and not 404: clients such as `ollama run` show it as it is, and stop. */
export function managementRefusal(name: ManagementRoute): GatewayError {
  const detail = `${DOES[name]} not allowed through this gateway; its operators manage the models of its workers, or give out keys with the scope "manage"`
  return new GatewayError({ code: 'forbidden', detail })
}

/** Asking who is signed in is answered as by a server that knows no accounts; clients expect it. */
export function accountRefusal(asks: 'use' | 'show'): GatewayError {
  if (asks === 'show') {
    return new GatewayError({ code: 'not_found', detail: 'this gateway has no ollama.com account' })
  }
  const detail =
    'this would use the ollama.com account of a worker, which is not allowed through this gateway'
  return new GatewayError({ code: 'forbidden', detail })
}

/** For a client whose base URL has one prefix too many or too few. Its path is not echoed whole. */
export function baseUrlHint(path: string, meant: string): string {
  const first = `/${path.split('/', 2)[1] ?? ''}`
  const advice =
    path.length > meant.length
      ? `take "${first}" off the end of the base URL`
      : `add "${meant.slice(0, -path.length)}" to the end of the base URL`
  return `there is nothing at this path; the path is ${meant}: ${advice}`
}
