import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { noCatalog } from '../../../../test/support/plain-columns.ts'
import { SegmentBuilder, TermScratch } from '../format/segment-builder.ts'
import { documentIdAt, openSegmentData, type SegmentData } from '../format/segment-data.ts'
import { TopDocuments } from './top-documents.ts'

const noTokens = new Uint32Array()

function segmentDataOf(ids: readonly string[]): SegmentData {
  const builder = new SegmentBuilder(new TermScratch())
  for (const [key, id] of ids.map((text) => Buffer.from(text)).entries()) {
    builder.addDocument(id, Number.NaN, noCatalog)
    const version = builder.addVersion(id, noTokens, 0)
    const chunk = { id, version, first: true, classNumber: 0, key, vectorKey: key, length: 0, body: noTokens }
    builder.addChunk(chunk)
  }
  return openSegmentData(builder.finish())
}

const byRank = (a: { id: string; score: number }, b: { id: string; score: number }) =>
  b.score - a.score || (a.id < b.id ? -1 : 1)

test('ranks the best documents of all segments, and equal scores by id', () => {
  const documents = fc.uniqueArray(
    fc.record({ id: fc.nat(40), score: fc.integer({ min: 1, max: 3 }), segment: fc.nat(2) }),
    {
      selector: ({ id }) => id,
      minLength: 12,
      maxLength: 40,
      size: 'max',
    },
  )
  const position = fc.option(fc.record({ score: fc.integer({ min: 1, max: 3 }), id: fc.nat(40) }))
  fc.assert(
    fc.property(documents, fc.nat(4), position, (drawn, limit, after) => {
      const named = drawn.map(({ id, ...rest }) => ({ ...rest, id: String(id).padStart(2, '0') }))
      const from = after && { score: after.score, documentId: String(after.id).padStart(2, '0') }
      const segments = [0, 1, 2].map((number) =>
        named.filter(({ segment }) => segment === number).sort((a, b) => (a.id < b.id ? -1 : 1)),
      )
      const segmentData = segments.map((inSegment) => segmentDataOf(inSegment.map(({ id }) => id)))
      const top = new TopDocuments(limit, segmentData, from)
      for (const [number, inSegment] of segments.entries()) {
        top.startSegment(number)
        let threshold = 0
        for (const [document, { score }] of inSegment.entries()) {
          // Read now and then, as kernels do: the threshold also holds for the following documents.
          if (document % 3 === 0) threshold = top.thresholdFrom(document)
          if (score >= threshold) top.offer(document, document, score)
        }
      }
      const found = top
        .ranked()
        .map(({ segment, document, score }) => ({ id: documentIdAt(segmentData[segment]!, document), score }))
      const expected = named
        .filter(
          ({ id, score }) => from === null || score < from.score || (score === from.score && id > from.documentId),
        )
        .sort(byRank)
        .slice(0, limit)
        .map(({ id, score }) => ({ id, score }))
      assert.deepEqual(found, expected)
    }),
    { numRuns: 500 },
  )
})
