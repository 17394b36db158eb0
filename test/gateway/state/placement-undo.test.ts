import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { HistoryEntry } from '../../../src/gateway/state/placement-history.ts'
import { chooseUndo } from '../../../src/gateway/state/placement-undo.ts'

type Rules = HistoryEntry['after'][number]['rules']

const denies = (...models: string[]): Rules => ({
  mode: 'allow_all',
  allowed_models: [],
  denied_models: models,
})

/** History and overrides as edits make them; `undo` chooses and, where it can, undoes. */
class Book {
  readonly entries: HistoryEntry[] = []
  readonly overrides = new Map<string, Rules>()

  edit(after: Record<string, Rules>, undoes: number | null = null): number {
    const sides = Object.entries(after)
    const id = this.entries.length + 1
    this.entries.push({
      id,
      at: '',
      actor: `actor-${id}`,
      operation: `op-${id}`,
      before: sides.map(([worker]) => ({ worker, rules: this.overrides.get(worker) ?? null })),
      after: sides.map(([worker, rules]) => ({ worker, rules })),
      undoes,
    })
    for (const [worker, rules] of sides) this.overrides.set(worker, rules)
    return id
  }

  choose(id?: number) {
    return chooseUndo(this.entries, id, (worker) => this.overrides.get(worker) ?? undefined)
  }

  /** The id that was undone, or why none was. */
  undo(id?: number): number | string {
    const choice = this.choose(id)
    if (!choice.ok) return choice.code
    const back = choice.entry.before.map(({ worker, rules }) => [worker, rules] as const)
    this.edit(Object.fromEntries(back), choice.entry.id)
    return choice.entry.id
  }
}

suite('undo', () => {
  test('nothing to undo', () => {
    assert.equal(new Book().undo(), 'not_found')
  })

  test('repeated, it walks back to before the first edit, and then there is nothing left', () => {
    const book = new Book()
    book.edit({ w: denies('a:1') })
    book.edit({ w: denies('a:1', 'b:1') })
    book.edit({ v: denies('c:1') })
    assert.deepEqual([book.undo(), book.undo(), book.undo()], [3, 2, 1])
    assert.deepEqual([...book.overrides.values()], [null, null])
    assert.equal(book.undo(), 'not_found')
  })

  test('an edit after an undo is the next to be undone, and the walk goes on behind it', () => {
    const book = new Book()
    book.edit({ w: denies('a:1') })
    book.edit({ w: denies('b:1') })
    assert.equal(book.undo(), 2)
    const fresh = book.edit({ w: denies('c:1') })
    assert.deepEqual([book.undo(), book.undo(), book.undo()], [fresh, 1, 'not_found'])
  })

  test('by id: an older edit of another worker', () => {
    const book = new Book()
    book.edit({ w: denies('a:1') })
    book.edit({ v: denies('b:1') })
    assert.equal(book.undo(1), 1)
    assert.equal(book.overrides.get('w'), null)
    assert.deepEqual(book.overrides.get('v'), denies('b:1'))
  })

  test('by id: a worker that was edited since is a conflict that names who', () => {
    const book = new Book()
    book.edit({ w: denies('a:1') })
    book.edit({ v: denies('b:1'), w: denies('a:1', 'b:1') })
    const choice = book.choose(1)
    assert.ok(!choice.ok && choice.code === 'conflict' && choice.by?.id === 2)
    assert.match(choice.reason, /actor-2.*edit 2, op-2/)
  })

  // The rules are the same again, but somebody has been there since and means them.
  test('by id: edited since, though the rules are what they were', () => {
    const book = new Book()
    book.edit({ w: denies('a:1') })
    book.edit({ w: denies() })
    book.edit({ w: denies('a:1') })
    assert.equal(book.undo(1), 'conflict')
  })

  test('by id: later edits that were undone are no obstacle', () => {
    const book = new Book()
    book.edit({ w: denies('a:1') })
    book.edit({ w: denies('b:1') })
    book.undo()
    assert.equal(book.undo(1), 1)
  })

  test('by id: undone already, and unknown', () => {
    const book = new Book()
    book.edit({ w: denies('a:1') })
    book.undo()
    assert.equal(book.undo(1), 'conflict')
    assert.equal(book.undo(99), 'not_found')
  })

  test('an undo can be undone by its id, and then its edit stands again', () => {
    const book = new Book()
    book.edit({ w: denies('a:1') })
    book.undo()
    assert.equal(book.undo(2), 2)
    assert.deepEqual(book.overrides.get('w'), denies('a:1'))
    assert.equal(book.undo(), 1)
  })

  test('a file that was changed by hand is a conflict', () => {
    const book = new Book()
    book.edit({ w: denies('a:1') })
    book.overrides.set('w', denies('z:1'))
    assert.equal(book.undo(), 'conflict')
  })
})
