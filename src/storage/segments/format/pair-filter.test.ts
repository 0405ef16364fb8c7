import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { noCatalog } from '../../../../test/support/plain-columns.ts'
import { filterPhrase } from './pair-filter.ts'
import { SegmentBuilder, TermScratch } from './segment-builder.ts'
import { openSegmentData, type SegmentData } from './segment-data.ts'
import { encodeField } from './token-stream.ts'

type Word = readonly [term: number, step: number]

function encoded(words: readonly Word[]): Uint32Array {
  let last = -1
  const positions = words.map(([, step]) => {
    last += step
    return last
  })
  return encodeField({ terms: words.map(([term]) => String(term)), positions, length: words.length }, Number)
}

/** Each chunk is a document of its own; the title belongs to its chunk. */
function segmentDataOf(chunks: readonly { title: readonly Word[]; body: readonly Word[] }[]): SegmentData {
  const builder = new SegmentBuilder(new TermScratch())
  chunks.forEach(({ title, body }, i) => {
    const id = Uint8Array.of(i >> 8, i & 255)
    builder.addDocument(id, Number.NaN, noCatalog)
    const version = builder.addVersion(id, encoded(title), title.length)
    const key = i + 1
    builder.addChunk({ id, version, first: true, classNumber: 0, key, vectorKey: key, length: 1, body: encoded(body) })
  })
  return openSegmentData(builder.finish())
}

/** The pairs of terms at adjacent positions. */
function pairsOf(words: readonly Word[]): [number, number][] {
  let last = -1
  const placed = words.map(([term, step]) => {
    last += step
    return { term, position: last }
  })
  return placed.flatMap((a) =>
    placed.filter((b) => b.position === a.position + 1).map((b): [number, number] => [a.term, b.term]),
  )
}

const field = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom(0, 1, 1, 1, 2, 6, 7, 8, 100)), {
  maxLength: 12,
})

test('a chunk that contains two adjacent terms always passes the filter', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ title: field, body: field }), { minLength: 1, maxLength: 70 }), (chunks) => {
      const data = segmentDataOf(chunks)
      chunks.forEach(({ title, body }, chunk) => {
        for (const [first, second] of [...pairsOf(title), ...pairsOf(body)]) {
          const list = Uint16Array.of(chunk)
          assert.equal(filterPhrase(data, [[first], [second]], list, 1), 1)
          assert.equal(
            filterPhrase(
              data,
              [
                [77, first],
                [second, 78],
              ],
              list,
              1,
            ),
            1,
          )
        }
      })
    }),
  )
})

test('most chunks that contain two words that are not adjacent are filtered out', () => {
  const chunks = 1000
  let state = 1
  const draw = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return 10 + (state >>> 16)
  }
  const data = segmentDataOf(
    Array.from({ length: chunks }, () => ({
      title: [],
      body: [[1, 1], ...Array.from({ length: 60 }, (): Word => [draw(), 1]), [2, 1]],
    })),
  )
  const list = Uint16Array.from({ length: chunks }, (_, chunk) => chunk)
  const left = filterPhrase(data, [[1], [2]], list, chunks)
  assert.ok(left < chunks / 8, `${left} of ${chunks} are left`)
  assert.deepEqual(
    list.slice(0, left).toSorted((a, b) => a - b),
    list.slice(0, left),
  )
})

test('in a segment without words nothing passes the filter', () => {
  const data = segmentDataOf([{ title: [], body: [] }])
  assert.equal(data.bodyTokens.length, 0)
  assert.equal(filterPhrase(data, [[1], [2]], Uint16Array.of(0), 1), 0)
})
