import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { inWordsOf, type Newest, noEvents, withNewer } from './newest-events.ts'

test('the newest events are kept, the newest first, and dropped ones are mentioned from then on', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 12 }),
      fc.integer({ min: 1, max: 9 }),
      (pages, max) => {
        let [next, kept]: [number, Newest<number>] = [0, noEvents]
        for (const count of pages) {
          const events = Array.from({ length: count }, () => next++).reverse()
          kept = withNewer({ events, isCut: false }, kept, max)
        }
        const all = Array.from({ length: next }, (_, i) => next - 1 - i)
        assert.deepEqual(kept, { events: all.slice(0, max), isCut: next > max })
        assert.equal(/^the newest/.test(inWordsOf(kept)), next > max)
      },
    ),
  )
  assert.equal(inWordsOf({ events: [1], isCut: false }), '1 event')
  assert.equal(inWordsOf(noEvents), '0 events')
})
