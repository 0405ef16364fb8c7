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
  const cursors = new KeywordCursors(signed, 'rules of today')
  const before = new KeywordCursors(signed, 'rules of yesterday').sign(binding, position)

  test('open where they were made for, and nowhere else', async () => {
    assert.deepEqual(await cursors.open(cursors.sign(binding, position), binding), position)
    const elsewhere = /^cursor does not belong to this request/
    await assert.rejects(cursors.open(cursors.sign(binding, position), ['app_2', 'word']), refused(elsewhere))
    for (const other of [null, 5, 'text', {}, [1], { rules: 5 }]) {
      await assert.rejects(cursors.open(signed.sign('another area', other), binding), refused(elsewhere))
    }
    await assert.rejects(cursors.open(`${before}x`, binding), refused(elsewhere))
  })

  test('from before the index was made anew are said to be, also where what they are bound to is said in another way now', async () => {
    for (const bound of [binding, [...binding, 'and one thing more']]) {
      await assert.rejects(cursors.open(before, bound), refused(/before the search index was rebuilt: start from the/))
    }
  })

  test('of a version that did not say its rules go on', async () => {
    assert.deepEqual(await cursors.open(signed.sign(binding, position), binding), position)
  })
})
