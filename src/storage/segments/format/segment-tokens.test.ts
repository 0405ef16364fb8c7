import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { noCatalog } from '../../../../test/support/plain-columns.ts'
import { mergeSegments } from './merge-segments.ts'
import { SegmentBuilder, TermScratch } from './segment-builder.ts'
import { openSegmentData, type SegmentData } from './segment-data.ts'
import { bodyTokensAt, eachToken, storeTokens, titleTokensAt } from './segment-tokens.ts'
import { encodeTokens } from './token-stream.ts'

interface Field {
  readonly terms: number[]
  readonly positions: number[]
}

const fieldOf = (step: fc.Arbitrary<number>): fc.Arbitrary<Field> =>
  // Numbers beyond 21 bits too: a segment numbers its own terms.
  fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 25 - 1 }), step), { maxLength: 12 }).map((words) => {
    let position = -1
    const positions = words.map(([, one]) => (position += one))
    return { terms: words.map(([term]) => term), positions }
  })

const near = fc.constantFrom(0, 1, 1, 2, 6, 7, 8, 2 ** 21 - 1)
const far = fc.constantFrom(1, 7, 2 ** 21, 2 ** 29 - 1)
const chunksOf = (field: fc.Arbitrary<Field>) =>
  fc.array(fc.record({ title: field, body: field }), { minLength: 1, maxLength: 8 })

const encoded = ({ terms, positions }: Field): Uint32Array => encodeTokens(terms, positions, (term) => term)

/** Each chunk is a document of its own. */
function segmentDataOf(chunks: readonly { title: Field; body: Field }[], scratch: TermScratch): SegmentData {
  const builder = new SegmentBuilder(scratch)
  chunks.forEach(({ title, body }, i) => {
    const id = Uint8Array.of(i)
    builder.addDocument(id, Number.NaN, noCatalog)
    const version = builder.addVersion(id, encoded(title), 1)
    const key = i + 1
    builder.addChunk({ id, version, first: true, classNumber: 0, key, vectorKey: key, length: 1, body: encoded(body) })
  })
  return openSegmentData(builder.finish())
}

/** Terms and the steps before them; any long step is shown as 7. */
const tokensIn = ({ terms, positions }: Field) =>
  terms.map((term, i) => [term, Math.min(7, positions[i]! - (positions[i - 1] ?? -1))])

const scratch = new TermScratch()

for (const [name, steps] of Object.entries({ near, 'near and far': fc.oneof(near, far) })) {
  test(`a segment returns the words that it was built from, with steps ${name}, and so does a merged one`, () => {
    fc.assert(
      fc.property(chunksOf(fieldOf(steps)), (chunks) => {
        const built = segmentDataOf(chunks, scratch)
        const source = { data: built, isLive: () => true, columns: new Map() }
        for (const data of [built, openSegmentData(mergeSegments([source], scratch).data)]) {
          chunks.forEach(({ title, body }, i) => {
            assert.deepEqual([...titleTokensAt(data, i)], [...encoded(title)])
            assert.deepEqual([...bodyTokensAt(data, i)], [...encoded(body)])
          })
          const seen: number[][] = []
          eachToken(data, (term, step) => seen.push([term, step]))
          assert.deepEqual(seen, [
            ...chunks.flatMap(({ title }) => tokensIn(title)),
            ...chunks.flatMap(({ body }) => tokensIn(body)),
          ])
          const isFar = [...chunks.map(({ title }) => title), ...chunks.map(({ body }) => body)].some(({ positions }) =>
            positions.some((position, i) => position - (positions[i - 1] ?? -1) >= 2 ** 21),
          )
          assert.equal(data.tokenBytes, isFar ? 4 : 3)
        }
      }),
    )
  })
}

test('a segment with more terms than 21 bits can number takes four bytes a word', () => {
  const tokens = Uint32Array.of((1 << 29) | 5)
  const listPositions = new Uint32Array(6)
  assert.deepEqual(
    [2 ** 21, 2 ** 21 + 1].map((terms) => storeTokens(tokens, tokens, listPositions, terms).tokenBytes),
    [3, 4],
  )
})

test('a segment with four bytes a word has the previous format number, and unknown format numbers are refused', () => {
  const data = (position: number): Uint8Array<ArrayBuffer> => {
    const builder = new SegmentBuilder(scratch)
    const id = Uint8Array.of(1)
    builder.addDocument(id, Number.NaN, noCatalog)
    const version = builder.addVersion(id, Uint32Array.of(), 0)
    const body = encoded({ terms: [3], positions: [position] })
    builder.addChunk({ id, version, first: true, classNumber: 0, key: 1, vectorKey: 1, length: 1, body })
    return builder.finish()
  }
  const formatOf = (bytes: Uint8Array<ArrayBuffer>) => new Uint32Array(bytes.buffer)[1]
  assert.deepEqual([data(0), data(2 ** 21)].map(formatOf), [5, 4])
  for (const format of [3, 6]) {
    const other = data(0)
    new Uint32Array(other.buffer)[1] = format
    assert.throws(() => openSegmentData(other), /not segment data of this format/)
  }
})
