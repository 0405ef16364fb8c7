import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { batchTexts } from './batch-texts.ts'

test('keeps every text in order, within both limits, and wastes no request', () => {
  const limits = fc.record({ textsMax: fc.integer({ min: 1, max: 5 }), charsMax: fc.integer({ min: 1, max: 30 }) })
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 40 }), { maxLength: 40 }), limits, (texts, { textsMax, charsMax }) => {
      const batches = batchTexts(texts, { textsMax, charsMax })
      assert.deepEqual(batches.flat(), texts)
      const chars = (batch: readonly string[]): number => batch.join('').length
      for (const [index, batch] of batches.entries()) {
        assert.ok(batch.length >= 1 && batch.length <= textsMax)
        assert.ok(batch.length === 1 || chars(batch) <= charsMax)
        const following = batches[index + 1]?.[0]
        if (following !== undefined) assert.ok(batch.length === textsMax || chars([...batch, following]) > charsMax)
      }
    }),
  )
})
