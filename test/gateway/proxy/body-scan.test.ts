import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scanBody } from '../../../src/gateway/proxy/body-scan.ts'
import { GatewayError } from '../../../src/gateway/errors.ts'
import { bodyPieces } from '../../../src/gateway/proxy/upstream-request.ts'

function textOf(body: Buffer, span: { start: number; end: number } | undefined) {
  return span === undefined ? undefined : body.toString('utf8', span.start, span.end)
}

const found: {
  name: string
  body: string
  whole?: string
  model?: string
  keepAlive?: string
  numCtx?: string
}[] = [
  { name: 'plain', body: '{"model":"a"}', model: '"a"' },
  {
    name: 'blanks everywhere',
    body: ' \n{ "model" :\t"a" , "x" : [ 1 ] }\n',
    whole: '{ "model" :\t"a" , "x" : [ 1 ] }',
    model: '"a"',
  },
  { name: 'byte order mark', body: '\uFEFF{"model":"a"}', whole: '{"model":"a"}', model: '"a"' },
  {
    name: 'bytes after the first value are left out',
    body: '{"model":"a"} trailing {',
    whole: '{"model":"a"}',
    model: '"a"',
  },
  { name: 'a key in another case is the same key', body: '{"MODEL":"a"}', model: '"a"' },
  { name: 'Unicode folding as Go does it', body: '{"\u212Aeep_alive":0}', keepAlive: '0' },
  { name: 'an escaped key', body: '{"mod\\u0065l":"a"}', model: '"a"' },
  { name: 'the last of two equal keys', body: '{"model":"a","model":"b"}', model: '"b"' },
  {
    name: 'quotes and backslashes in strings',
    body: '{"p":"\\\\\\"}{","model":"a\\\\"}',
    model: '"a\\\\"',
  },
  {
    name: 'a long string before it',
    body: `{"p":"${'x'.repeat(500)}\\"${'y'.repeat(100)}","model":"a"}`,
    model: '"a"',
  },
  {
    name: 'a string that ends in escaped backslashes far away',
    body: `{"p":"${'x'.repeat(90)}\\\\\\\\","model":"a"}`,
    model: '"a"',
  },
  {
    name: 'a model inside another value does not count',
    body: '{"o":{"model":"x"},"a":["model"],"model":"a"}',
    model: '"a"',
  },
  {
    name: 'num_ctx of options',
    body: '{"options":{"a":{"num_ctx":1},"num_ctx": 8192 }}',
    numCtx: '8192',
  },
  { name: 'option keys keep their case', body: '{"options":{"NUM_CTX":1}}' },
  { name: 'the last num_ctx wins', body: '{"options":{"num_ctx":1,"num_ctx":2}}', numCtx: '2' },
  { name: 'options that are no object', body: '{"options":null}' },
  { name: 'keep_alive', body: '{"keep_alive":"5m","model":""}', keepAlive: '"5m"', model: '""' },
]

for (const { name, body, whole, ...values } of found) {
  test(`scan: ${name}`, () => {
    const bytes = Buffer.from(body)
    const spans = scanBody(bytes, '/api/chat')
    assert.equal(textOf(bytes, spans.whole), whole ?? body)
    assert.equal(textOf(bytes, spans.model), values.model)
    assert.equal(textOf(bytes, spans.keepAlive), values.keepAlive)
    assert.equal(textOf(bytes, spans.numCtx), values.numCtx)
  })
}

const refused: [name: string, body: string, message: RegExp][] = [
  ['nothing', '', /^missing request body$/],
  ['blanks', ' \n\t', /^missing request body$/],
  ['a cut string', '{"model":"a', /^unexpected EOF$/],
  ['a cut object', '{"model":"a"', /^unexpected EOF$/],
  ['a cut nested value', '{"a":[{"b":1}', /^unexpected EOF$/],
  ['an array', '[1]', /^json: cannot unmarshal array into Go value of type api\.ChatRequest$/],
  ['a number', '12', /^json: cannot unmarshal number into Go value of type api\.ChatRequest$/],
  ['a string', '"x"', /^json: cannot unmarshal string into Go value of type api\.ChatRequest$/],
  ['a truth', 'true', /^json: cannot unmarshal bool into Go value of type api\.ChatRequest$/],
  ['null', 'null', /^model is required$/],
  ['half a word', 'tru', /^invalid character 't' looking for beginning of value/],
  ['no JSON', 'hello', /^invalid character 'h' looking for beginning of value \(at byte 0\)$/],
  ['a bare key', '{model:1}', /^invalid character 'm' looking for beginning of object key/],
  ['a missing colon', '{"a" 1}', /^invalid character '1' after object key \(at byte 5\)$/],
  ['a missing comma', '{"a":1 "b":2}', /after object key:value pair/],
  ['a missing value', '{"a":}', /looking for beginning of value/],
  [
    'two spellings of one key',
    '{"model":"a","Model":"b"}',
    /"model" and "Model" differ only in case/,
  ],
  [
    'two spellings by Unicode folding',
    '{"stream":true,"\u017Ftream":false}',
    /differ only in case/,
  ],
]

for (const [name, body, message] of refused) {
  test(`scan refuses ${name}`, () => {
    assert.throws(
      () => scanBody(Buffer.from(body), '/api/chat'),
      (error: unknown) => {
        assert.ok(error instanceof GatewayError)
        assert.equal(error.status, 400)
        assert.match(error.message, message)
        return true
      },
    )
  })
}

// The worker must get what the client wrote, byte for byte, but for the values that are replaced.
test('edits replace the named values and nothing else', () => {
  const text =
    '{ "options":{"num_ctx":1 ,"seed":2},"model" : "A", "keep_alive":-1,"x_new":{"a":[1]}} junk'
  const body = Buffer.from(text)
  const spans = scanBody(body, '/api/chat')
  const edited = (edits: Parameters<typeof bodyPieces>[2]): string =>
    Buffer.concat(bodyPieces(body, spans, edits)).toString()
  const whole = text.slice(0, text.lastIndexOf(' junk'))
  assert.equal(edited({}), whole)
  assert.equal(edited({ model: '"b"' }), whole.replace('"A"', '"b"'))
  assert.equal(
    edited({ keepAlive: '"5m"', numCtx: '4096', model: '"c"' }),
    whole.replace('"A"', '"c"').replace('-1', '"5m"').replace('"num_ctx":1', '"num_ctx":4096'),
  )
})

test('a body that needs no edit is not copied', () => {
  const body = Buffer.from('{"model":"a"}')
  const [piece] = bodyPieces(body, scanBody(body, '/api/chat'), {})
  assert.equal(piece?.buffer, body.buffer)
})

// JSON.parse is the second opinion: whatever both accept must give the same top-level model.
test('random documents: the scanner agrees with JSON.parse', () => {
  let seed = 7
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % below
  }
  const text = (): string =>
    Array.from({ length: random(70) }, () => '"\\{}[],:aé🚀\n'.charAt(random(12))).join('')
  const value = (depth: number): unknown => {
    switch (random(depth > 3 ? 4 : 6)) {
      case 0:
        return text()
      case 1:
        return random(1e6) - 5e5
      case 2:
        return random(2) === 0
      case 3:
        return null
      case 4:
        return Array.from({ length: random(4) }, () => value(depth + 1))
      default:
        return Object.fromEntries(
          Array.from({ length: random(4) }, (_, i) => [`${text()}${i}`, value(depth + 1)]),
        )
    }
  }
  for (let round = 0; round < 2000; round += 1) {
    const document = {
      a: value(0),
      model: text(),
      b: value(0),
      options: { x: value(1), num_ctx: random(9) },
    }
    const body = Buffer.from(JSON.stringify(document, undefined, random(3)))
    const spans = scanBody(body, '/api/chat')
    assert.deepEqual(JSON.parse(textOf(body, spans.model) ?? 'null'), document.model)
    assert.equal(textOf(body, spans.numCtx), String(document.options.num_ctx))
    assert.equal(spans.whole.end, body.length)
  }
})
