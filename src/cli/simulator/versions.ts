// What an Ollama of a given version can do. One flag per difference that a
// client can see; the numbers are the first release with it.

export interface Features {
  version: string
  psContext: boolean
  showCapabilities: boolean
  tagsCapabilities: boolean
  thinking: boolean
  thinkingByDefault: boolean
  cloudSuffix: boolean
  truncateFlag: boolean
  logprobs: boolean
  embedDimensions: boolean
  toolCallIds: boolean
  methodNotAllowed: boolean
  /** The finish reason comes in a chunk of its own, the role once. */
  newChatStream: boolean
  /** Errors before the first chunk keep their status; older ones are 200 with an error line. */
  earlyStreamStatus: boolean
  /** A request for a loaded model does not queue behind loads. */
  fastPath: boolean
  /** A model that is being loaded is already listed by ps. */
  psListsLoading: boolean
  /** llama-server runs the model; before, the built-in engines. */
  llamaServer: boolean
  /** Paths that exist. */
  routes: ReadonlySet<string>
  defaultContext: number
}

const ROUTES: readonly (readonly [path: string, from: string, until?: string])[] = [
  ['/api/status', '0.16.2'],
  ['/v1/responses', '0.13.3'],
  ['/v1/messages', '0.14.0'],
  ['/v1/audio/transcriptions', '0.20.0'],
  ['/v1/images/generations', '0.14.3', '0.32.6'],
  ['/v1/images/edits', '0.15.0', '0.32.6'],
  ['/api/me', '0.12.0'],
  ['/api/signout', '0.12.0'],
  ['/api/user/keys/:key', '0.12.0'],
  ['/api/experimental/web_search', '0.18.0'],
  ['/api/experimental/web_fetch', '0.18.0'],
  ['/api/experimental/model-recommendations', '0.22.1'],
  ['/api/experimental/aliases', '0.15.5', '0.18.0'],
]

export function featuresOf(version: string): Features {
  const since = (first: string): boolean => compareVersions(version, first) >= 0
  return {
    version,
    psContext: since('0.10.0'),
    showCapabilities: since('0.6.4'),
    tagsCapabilities: since('0.30.0'),
    thinking: since('0.9.0'),
    thinkingByDefault: since('0.12.4'),
    cloudSuffix: since('0.17.6'),
    truncateFlag: since('0.12.4'),
    logprobs: since('0.12.11'),
    embedDimensions: since('0.11.11'),
    toolCallIds: since('0.12.10'),
    methodNotAllowed: since('0.7.0'),
    newChatStream: since('0.32.6'),
    earlyStreamStatus: since('0.12.6'),
    fastPath: since('0.11.5'),
    psListsLoading: !since('0.30.0'),
    llamaServer: since('0.30.0'),
    routes: new Set(
      ROUTES.filter(([, from, until]) => since(from) && (until === undefined || !since(until))).map(
        ([path]) => path,
      ),
    ),
    defaultContext: since('0.6.7') ? 4096 : 2048,
  }
}

/** Paths whose existence depends on the version; all others are always there. */
export const VERSIONED_PATHS: ReadonlySet<string> = new Set(ROUTES.map(([path]) => path))

export function compareVersions(a: string, b: string): number {
  const parts = (version: string): number[] =>
    (version.split('-')[0] ?? '').split('.').map((part) => Number.parseInt(part, 10) || 0)
  const [left, right] = [parts(a), parts(b)]
  for (let index = 0; index < 3; index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
