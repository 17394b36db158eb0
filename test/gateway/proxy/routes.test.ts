import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findRoute, readTarget } from '../../../src/gateway/proxy/routes.ts'

const targets: [target: string, path: string, query?: string, key?: string][] = [
  ['/api/chat', '/api/chat'],
  ['//api///chat', '/api/chat'],
  ['/api/chat/', '/api/chat'],
  ['/', '/'],
  ['//', '/'],
  ['', '/'],
  ['*', '*'],
  ['/v1/messages?beta=true', '/v1/messages', 'beta=true'],
  ['/api/tags?a=/b//c', '/api/tags', 'a=/b//c'],
  ['http://gateway:11435/api/tags?x', '/api/tags', 'x'],
  ['http://gateway:11435', '/'],
  ['/k/SECRET/api/chat', '/api/chat', '', 'SECRET'],
  ['/k/SECRET', '/', '', 'SECRET'],
  ['/k/SECRET/', '/', '', 'SECRET'],
  ['//k//SE%20CRET//v1//models', '/v1/models', '', 'SE CRET'],
  ['/k/100%/api/tags', '/api/tags', '', '100%'],
  ['/kitchen/api/chat', '/kitchen/api/chat'],
  ['/v1/models/hf.co%2Fa%2Fb:Q4', '/v1/models/hf.co%2Fa%2Fb:Q4'],
]

test('a request target is split into path, query and key', () => {
  for (const [target, path, query = '', pathKey] of targets) {
    assert.deepEqual(readTarget(target), { path, query, pathKey }, target)
  }
})

const kinds: [line: string, kind: string][] = [
  ['POST /api/generate', 'inference ollama'],
  ['POST /api/chat', 'inference ollama'],
  ['POST /api/embed', 'inference ollama'],
  ['POST /api/embeddings', 'inference ollama'],
  ['POST /v1/chat/completions', 'inference openai-chat'],
  ['POST /v1/completions', 'inference openai-completions'],
  ['POST /v1/embeddings', 'inference openai-embeddings'],
  ['POST /v1/responses', 'inference openai-responses'],
  ['POST /v1/messages', 'inference anthropic'],
  ['POST /v1/audio/transcriptions', 'inference openai-audio'],
  ['POST /v1/messages/count_tokens', 'count_tokens'],
  ['GET /', 'discovery root'],
  ['HEAD /', 'discovery root'],
  ['HEAD /api/hello', 'discovery hello'],
  ['GET /api/version', 'discovery version'],
  ['HEAD /api/version', 'discovery version'],
  ['GET /api/status', 'discovery status'],
  ['GET /api/tags', 'discovery tags'],
  ['HEAD /api/tags', 'discovery tags'],
  ['GET /api/ps', 'discovery ps'],
  ['GET /v1/models', 'discovery models'],
  ['GET /v1/models/chat', 'model chat'],
  ['GET /v1/models/hf.co/a/b:Q4', 'model hf.co/a/b:Q4'],
  ['GET /v1/models/hf.co%2Fa%2Fb:Q4', 'model hf.co/a/b:Q4'],
  ['GET /v1/models/a%2', 'nothing'],
  ['GET /api/experimental/model-recommendations', 'discovery recommendations'],
  ['POST /api/show', 'show'],
  ['POST /api/pull', 'management pull'],
  ['POST /api/push', 'management push'],
  ['POST /api/create', 'management create'],
  ['POST /api/copy', 'management copy'],
  ['DELETE /api/delete', 'management delete'],
  ['HEAD /api/blobs/sha256:00', 'management blobs'],
  ['POST /api/blobs/sha256:00', 'management blobs'],
  ['POST /api/me', 'account show'],
  ['POST /api/signout', 'account use'],
  ['DELETE /api/user/keys/abc', 'account use'],
  ['POST /api/experimental/web_search', 'account use'],
  ['POST /api/experimental/web_fetch', 'account use'],
  // Methods that a real one refuses.
  ['GET /api/chat', 'allow POST'],
  ['GET /v1/chat/completions', 'allow POST'],
  ['POST /api/tags', 'allow HEAD, GET'],
  ['HEAD /api/ps', 'allow GET'],
  ['GET /api/blobs/sha256:00', 'allow HEAD, POST'],
  ['POST /api/delete', 'allow DELETE'],
  ['PATCH /', 'allow HEAD, GET'],
  ['constructor /', 'allow HEAD, GET'],
  // What a real one does not have, or has no more.
  ['GET /api/nope', 'nothing'],
  ['POST /v1/nope', 'nothing'],
  ['POST /v1/images/generations', 'nothing'],
  ['POST /v1/images/edits', 'nothing'],
  ['POST /api/blobs/a/b', 'nothing'],
  ['GET /api/../api/tags', 'nothing'],
  ['POST /API/chat', 'nothing'],
  ['GET /metrics', 'nothing'],
  // Base URLs with a prefix too many or too few.
  ['POST /v1/v1/messages', 'meant /v1/messages'],
  ['POST /v1/v1/chat/completions', 'meant /v1/chat/completions'],
  ['POST /v1/api/generate', 'meant /api/generate'],
  ['POST /api/v1/chat/completions', 'meant /v1/chat/completions'],
  ['POST /api/api/chat', 'meant /api/chat'],
  ['POST /chat/completions', 'meant /v1/chat/completions'],
  ['GET /models', 'meant /v1/models'],
  ['POST /messages', 'meant /v1/messages'],
  ['GET /tags', 'meant /api/tags'],
  ['POST /chat', 'meant /api/chat'],
]

test('every route and method', () => {
  for (const [line, expected] of kinds) {
    const [method = '', path = ''] = line.split(' ')
    assert.equal(described(method, path), expected, line)
  }
})

function described(method: string, path: string): string {
  const match = findRoute(method, path)
  if (match.found === 'other_method') return `allow ${match.allow}`
  if (match.found === 'nothing')
    return match.meant === undefined ? 'nothing' : `meant ${match.meant}`
  const { route } = match
  switch (route.kind) {
    case 'inference':
      assert.equal(route.path, path)
      return `inference ${route.dialect.name}`
    case 'model':
      return `model ${route.id}`
    case 'account':
      return `account ${route.asks}`
    case 'discovery':
    case 'management':
      return `${route.kind} ${route.name}`
    case 'show':
    case 'count_tokens':
      return route.kind
  }
}
