import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { BruteForceIndex } from '../../../test/contracts/brute-force-index.ts'
import * as random from '../../../test/contracts/random-changes.ts'
import { ask, assertSameAnswers, isSameFloat } from '../../../test/contracts/same-answers.ts'
import { openSearchNodes, patience, withoutOpenSearch } from '../../../test/support/opensearch-nodes.ts'
import { OpenSearchHome } from './opensearch-home.ts'

const skip = openSearchNodes === null ? withoutOpenSearch : false

test('whatever happened, answers are those of a scorer that looks at everything', { skip }, async () => {
  const prefix = `test-${randomBytes(4).toString('hex')}`
  const home = new OpenSearchHome({
    nodes: openSearchNodes!,
    prefix,
    origin: { rules: 'one', instance: 'a' },
    shards: 2,
    // Every search by vectors goes by the graph, which is exact as long as it brings all there are.
    comparedMax: 0,
    graceMs: 0,
    ...patience,
  })
  const index = await home.open()
  const batch = fc.array(random.change, { maxLength: 12 })
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(batch, { minLength: 1, maxLength: 5 }),
        fc.array(ask, { minLength: 2, maxLength: 4 }),
        async (batches, asks) => {
          await index.clear()
          const expected = new BruteForceIndex()
          for (const [i, changes] of batches.entries()) {
            assert.deepEqual(await index.apply({ position: i + 1, changes }), { outcome: 'applied' })
            await expected.apply({ position: i + 1, changes })
          }
          for (const one of asks) await assertSameAnswers(index, expected, one, isSameFloat)
          const [health, wanted] = [await index.health(), await expected.health()]
          assert.deepEqual(
            [health.position, health.documents, health.chunks],
            [wanted.position, wanted.documents, wanted.chunks],
          )
        },
      ),
      // To make it smaller would take a cluster many minutes.
      { numRuns: 10, endOnFailure: true },
    )
  } finally {
    await index.close()
    await home.remove()
  }
})
