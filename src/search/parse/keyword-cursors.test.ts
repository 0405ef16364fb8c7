import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Cursors, makeSigningKey } from '../../platform/cursors.ts'
import { TidemarkError } from '../../platform/errors.ts'
import { KeywordCursors } from './keyword-cursors.ts'

const key = makeSigningKey(1)
const signed = await Cursors.load({ signingKeys: async () => [key], addSigningKey: async () => [key] })
const position = { key: 1.5, documentId: 'doc_1' }
const binding = ['app_1', 'word']

const refused = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof TidemarkError)
  assert.equal(error.code, 'invalid_query')
  assert.match(error.message, message)
  return true
}

suite('cursors of keyword search', () => {
  const cursors = new KeywordCursors(signed, 'new rules')
  const before = new KeywordCursors(signed, 'old rules').sign(binding, position)

  test('can be opened by the same request, and by no other', async () => {
    assert.deepEqual(await cursors.open(cursors.sign(binding, position), binding), position)
    const elsewhere = /^cursor does not belong to this request/
    await assert.rejects(cursors.open(cursors.sign(binding, position), ['app_2', 'word']), refused(elsewhere))
    for (const other of [null, 5, 'text', {}, [1], { rules: 5 }]) {
      await assert.rejects(cursors.open(signed.sign('another area', other), binding), refused(elsewhere))
    }
    await assert.rejects(cursors.open(`${before}x`, binding), refused(elsewhere))
  })

  test('are refused with the reason if the index was rebuilt since, even if the binding changed too', async () => {
    for (const bound of [binding, [...binding, 'and another value']]) {
      await assert.rejects(cursors.open(before, bound), refused(/before the search index was rebuilt: start from the/))
    }
  })

  test('without rules, from an earlier version, are accepted', async () => {
    assert.deepEqual(await cursors.open(signed.sign(binding, position), binding), position)
  })
})
