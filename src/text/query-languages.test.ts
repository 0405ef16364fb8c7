import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { queryLanguages } from './query-languages.ts'

suite('the languages that a query may be in', () => {
  test('by its function words', () => {
    assert.deepEqual(queryLanguages('Who was the first to cross the Atlantic?', null), ['en'])
    assert.deepEqual(queryLanguages('Wie hoch ist der Leitzins in der Schweiz?', null), ['de'])
  })

  test('else by its script', () => {
    assert.deepEqual(queryLanguages('谁修复了灯塔？', null), ['zh', 'ja'])
    assert.deepEqual(queryLanguages('灯台を修復したのは誰ですか', null), ['ja'])
    assert.deepEqual(queryLanguages('등대', null), ['ko'])
    assert.ok(queryLanguages('منارة', null)?.includes('ar'))
    assert.ok(queryLanguages('מגדלור', null)?.includes('he'))
    assert.ok(queryLanguages('маяк', null)?.includes('ru'))
  })

  test('a word in another script does not decide, the most letters do', () => {
    assert.deepEqual(queryLanguages('GPS 是什么意思？它怎么工作？', null), ['zh', 'ja'])
  })

  test('else by the filter, which does not outweigh what the query shows', () => {
    assert.deepEqual(queryLanguages('lighthouse restoration', ['en', 'en-GB', 'de']), ['en', 'de'])
    assert.deepEqual(queryLanguages('谁修复了灯塔？', ['en']), ['zh', 'ja'])
  })

  test('else nothing is known', () => {
    assert.equal(queryLanguages('lighthouse restoration', null), null)
    assert.equal(queryLanguages('2026 +/- 42', null), null)
    assert.equal(queryLanguages('', null), null)
  })
})
