import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { BruteForceIndex } from '../../../test/contracts/brute-force-index.ts'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import * as random from '../../../test/contracts/random-changes.ts'
import { assertSameAnswers, type RandomRequests, randomRequests } from '../../../test/contracts/same-answers.ts'
import { casesOf } from '../../../test/support/cases.ts'
import type { IndexChange } from '../../indexing/fed-index.ts'
import type { AnalysedField } from '../../text/types.ts'

type Step =
  | { do: 'apply'; changes: IndexChange[] }
  | { do: 'background'; steps: number }
  | { do: 'reopen' }
  | { do: 'checkpoint' }
  | { do: 'split'; parts: number }
  | { do: 'compare'; requests: RandomRequests }

/**
 * Adds a word so far from the others that the segment needs four bytes a word (`format/segment-tokens.ts`), as every
 * segment did before format 5.
 */
const withFarWords = (change: IndexChange): IndexChange =>
  change.kind !== 'put_version'
    ? change
    : { ...change, chunks: change.chunks.map((chunk) => ({ ...chunk, body: withDistantWord(chunk.body) })) }
const withDistantWord = ({ terms, positions, length }: AnalysedField): AnalysedField => ({
  terms: [...terms, 'a'],
  positions: [...positions, (positions.at(-1) ?? -1) + 2 ** 21],
  length: length + 1,
})

/** A chunk that is too long for the kernel (`chunkWord` in the format of a segment). */
const withLongChunks = (change: IndexChange): IndexChange =>
  change.kind !== 'put_version'
    ? change
    : { ...change, chunks: change.chunks.map((chunk) => ({ ...chunk, body: lengthened(chunk.body) })) }
const lengthened = (field: AnalysedField): AnalysedField => ({ ...field, length: field.length + 2 ** 16 })

const changes = fc.array(random.change, { maxLength: 5 })
const comparing = fc.record({ do: fc.constant('compare' as const), requests: randomRequests })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('apply' as const), changes }),
  },
  ...[withFarWords, withLongChunks].map((altered) => ({
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('apply' as const), changes: changes.map((all) => all.map(altered)) }),
  })),
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('background' as const), steps: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ do: 'reopen' }, { do: 'checkpoint' }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('split' as const), parts: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 5, arbitrary: comparing },
)

test('after any changes and in any layout, results equal those of a brute-force index', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'segments-'))
  const index = new InProcessSegments({ path: join(folder, 'index.db'), sealChunks: 6, segmentChunks: 24 })
  const layouts = new Set<number>()
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), comparing, async (steps, last) => {
        await index.clear()
        const expected = new BruteForceIndex()
        let position = 0
        for (const now of [...steps, last]) {
          if (now.do === 'background') index.runBackground(now.steps)
          else if (now.do === 'reopen') index.reopen()
          else if (now.do === 'checkpoint') await index.checkpoint()
          else if (now.do === 'split') index.parts = now.parts
          else if (now.do === 'compare') await assertSameAnswers(index, expected, now.requests)
          else {
            const batch = { position: ++position, changes: now.changes }
            await index.apply(batch)
            await expected.apply(batch)
          }
        }
        const [health, expectedHealth] = [await index.health(), await expected.health()]
        assert.equal(health.chunks, expectedHealth.chunks)
        assert.equal(health.documents, expectedHealth.documents)
        assert.equal(health.position, position)
        layouts.add(health.segments)
      }),
      { numRuns: casesOf(150, 50) },
    )
    assert.ok(layouts.size > 3, 'the runs should cover several layouts')
    assert.ok(index.merges > 0, 'the runs should cover merges')
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
