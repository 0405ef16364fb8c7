import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cosineAsOf, defaultCosines, knowsLanguage } from './embedder.ts'

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

test("a cosine in another model's terms keeps its position between unrelated and related", () => {
  const high = { unrelated: 0.72, related: 0.92 }
  for (const [cosine, as] of [
    [0.4, 0.72],
    [0.8, 0.92],
    [0.6, 0.82],
    [0.2, 0.62],
  ] as const) {
    assert.ok(Math.abs(cosineAsOf(cosine, defaultCosines, high) - as) < 1e-12)
    assert.ok(Math.abs(cosineAsOf(as, high, defaultCosines) - cosine) < 1e-12)
  }
})
