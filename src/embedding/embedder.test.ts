import assert from 'node:assert/strict'
import { test } from 'node:test'
import { knowsLanguage } from './embedder.ts'

test('knows a language by its primary subtag', () => {
  const english = { languages: ['en'] }
  assert.ok(knowsLanguage(english, 'en'))
  assert.ok(knowsLanguage(english, 'EN-gb'))
  assert.ok(knowsLanguage(english, 'en_US'))
  assert.ok(knowsLanguage(english, null))
  assert.ok(!knowsLanguage(english, 'enm'))
  assert.ok(!knowsLanguage(english, 'de'))
  assert.ok(knowsLanguage({ languages: null }, 'zh'))
})
