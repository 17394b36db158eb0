import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFormFields } from '../../../src/gateway/proxy/read-form.ts'

const TYPE = 'multipart/form-data; boundary=XX'

const part = (head: string, value: string): string => `--XX\r\n${head}\r\n\r\n${value}\r\n`
const named = (name: string, value: string): string =>
  part(`Content-Disposition: form-data; name="${name}"`, value)

const read = (text: string, type = TYPE) => ({ ...readFormFields(Buffer.from(text), type) })

const FILE =
  'Content-Disposition: form-data; filename="name.wav"; name="file"\r\nContent-Type: audio/wav'

test('text fields, and of a file its size', () => {
  const text = `${named('model', 'alpha:8b')}${part(FILE, 'RIFF\0')}${named('prompt', 'hi\r\n--X')}--XX--\r\n`
  assert.deepEqual(read(text), { model: 'alpha:8b', file: { bytes: 5 }, prompt: 'hi\r\n--X' })
  const bare = part('content-disposition:form-data;name=model', 'a')
  assert.deepEqual(read(`${bare}--XX--`), { model: 'a' })
  assert.deepEqual(read(`\r\n${bare}--XX--`), { model: 'a' }, 'a line end in front')
  const quoted = `${bare}--XX--`.replaceAll('XX', 'a=b c')
  assert.deepEqual(read(quoted, 'multipart/form-data; charset=utf-8; boundary="a=b c"'), {
    model: 'a',
  })
})

// A worker takes the first of two fields, and looks for boundaries at the start of lines alone. A
// form in which another model could be seen than the one that runs would dodge every rule.
test('a model that is hidden in a file, or comes twice, is not believed', () => {
  const model = named('model', 'denied')
  const lure = named('model', 'allowed')
  assert.deepEqual(read(`${model}${part(FILE, `RIFF ${lure.trimEnd()}`)}--XX--`)['model'], 'denied')
  const longer = part(FILE, `RIFF\r\n${lure.replaceAll('--XX', '--XXY').trimEnd()}`)
  assert.deepEqual(read(`${model}${longer}--XX--`)['model'], 'denied')
  const inHead = part('X: ; name="model"\r\nContent-Disposition: form-data; name="prompt"', 'p')
  assert.deepEqual(read(`${inHead}${model}--XX--`), { prompt: 'p', model: 'denied' })
  for (const twice of [
    `${model}${lure}--XX--`,
    `${model}${lure.replace('model', 'MODEL')}--XX--`,
    part('Content-Disposition: form-data; name="model"; name="prompt"', 'a') + '--XX--',
  ]) {
    assert.throws(() => read(twice), /twice|two names/)
  }
  assert.deepEqual(read(`${model}--XX--\r\n${lure}--XX--`), { model: 'denied' })
})

// A worker joins folded lines, ends them at a bare line feed, reads the names of RFC 2231 and undoes
// quoted-printable. Each of these hid a second model from the rules.
test('a head that a worker reads in another way is refused', () => {
  const lure = named('model', 'allowed')
  for (const head of [
    'Content-Disposition: form-data;\r\n name="model"',
    'Content-Disposition: form-data;\r\n\tname="model"',
    'X: a\nContent-Disposition: form-data; name="model"',
    'X: a\rContent-Disposition: form-data; name="model"',
    "Content-Disposition: form-data; name*=utf-8''model",
    'Content-Disposition: form-data; name*0="mo"; name*1="del"',
    'Content-Disposition: form-data; name="model"\r\nContent-Transfer-Encoding: Quoted-Printable',
  ]) {
    assert.throws(() => read(`${part(head, 'denied')}${lure}--XX--`), /its head is ambiguous/, head)
  }
})

test('what is no form says why', () => {
  const whole = `${named('model', 'a')}--XX--`
  assert.throws(() => read(whole, 'multipart/form-data'), /form: no boundary/)
  assert.throws(() => read(whole, `${TYPE}; boundary=YY`), /form: no boundary/)
  assert.throws(() => read(`preamble\r\n${whole}`), /begins with no boundary/)
  assert.throws(
    () => read('--XX\nContent-Disposition: form-data; name="model"\n\na\n--XX--'),
    /line/,
  )
  // However a form is cut, it is refused.
  for (let length = 0; length < whole.length; length += 1) {
    assert.throws(() => read(whole.slice(0, length)), /failed to parse multipart form/, `${length}`)
  }
})
