import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { noCatalog, plainColumns } from '../../../../test/support/plain-columns.ts'
import { noFilters } from '../../../search/search-index.ts'
import { bm25, idfOf, lengthNorm, maxScoreOfIdf, titleWeight } from '../../../text/bm25.ts'
import { FilterClasses } from '../format/filter-classes.ts'
import { SegmentBuilder, TermScratch } from '../format/segment-builder.ts'
import { openSegmentData } from '../format/segment-data.ts'
import { encodeTokens } from '../format/token-stream.ts'
import { Arena, bytesOf } from '../memory/arena.ts'
import { neverDeleted } from '../memory/segment.ts'
import { CompiledFilter } from './compile-filter.ts'
import type { GatheredScores } from './gathered-scores.ts'
import { KeywordKernel } from './keyword-kernel.ts'
import { alternativesOf, type PlannedWord, planKeyword } from './plan-keyword.ts'
import { TopDocuments } from './top-documents.ts'
import type { WalkedSegment } from './walk-postings.ts'

/** The fields that the dataset of a document opens; the last one only within a time window. */
const datasets = {
  both: ['title', 'body'],
  title: ['title'],
  body: ['body'],
  none: [],
  timed: ['title', 'body'],
} as const
const window = { publishedFrom: 5, publishedTo: 10 }
const open = { platforms: null, languages: null, regions: null, publishedFrom: null, publishedTo: null }
const scope = {
  entries: Object.entries(datasets).map(([dataset, fields]) => ({
    ...open,
    datasets: [dataset],
    fields,
    ...(dataset === 'timed' ? window : {}),
  })),
}

const generation = 5
const terms = [3, 8]

/** Frequencies above the limit of a posting are exceptions (`exceptionPosting`). */
const times = fc.oneof(fc.nat(3), fc.integer({ min: 60, max: 70 }))
const field = fc.record({ times: fc.tuple(times, times), more: fc.oneof(fc.nat(20), fc.nat(30_000)) })
const document = fc.record({
  dataset: fc.constantFrom(...(Object.keys(datasets) as (keyof typeof datasets)[])),
  publishedAt: fc.nat(12),
  deletedAt: fc.constantFrom(neverDeleted, neverDeleted, neverDeleted, generation, generation + 1),
  title: field,
  body: field,
})
type Field = Parameters<typeof tokensOf>[0]
type Document = typeof document extends fc.Arbitrary<infer D> ? D : never

const tokensOf = (one: { readonly times: readonly number[]; readonly more: number }) => {
  const words = one.times.flatMap((count, i) => new Array<number>(count).fill(terms[i]!))
  return encodeTokens(
    words,
    words.map((_, i) => i),
    (term) => term,
  )
}
const lengthOf = ({ times, more }: Field) => times.reduce((sum, count) => sum + count, more)

function fieldsOpen({ dataset, publishedAt }: Document): readonly string[] {
  const isOpen = dataset !== 'timed' || (publishedAt >= window.publishedFrom && publishedAt < window.publishedTo)
  return isOpen ? datasets[dataset] : []
}

test('the kernel, and the walk without it, score every posting exactly as BM25 is defined', () => {
  const arena = new Arena(2 ** 22)
  const kernel = new KeywordKernel(arena.memories)
  const classes = new FilterClasses()
  const filterClasses = Object.fromEntries(
    Object.keys(datasets).map((datasetId) => [datasetId, classes.add({ ...plainColumns, datasetId }, true)]),
  )
  const filter = new CompiledFilter(scope, noFilters, classes.list)
  const scratch = new TermScratch()
  let scored = 0

  const build = (documents: readonly Document[]) => {
    const builder = new SegmentBuilder(scratch)
    documents.forEach(({ dataset, publishedAt, title, body }, key) => {
      const id = Uint8Array.of(key)
      builder.addDocument(id, publishedAt, noCatalog)
      const version = builder.addVersion(id, tokensOf(title), lengthOf(title))
      builder.addChunk({
        id,
        version,
        first: true,
        classNumber: filterClasses[dataset]!,
        key,
        vectorKey: key,
        length: lengthOf(body),
        body: tokensOf(body),
      })
    })
    const data = builder.finish()
    const [dataBlock, deletedAtBlock] = [arena.allocate(data.length), arena.allocate(4 * (documents.length + 2))]
    assert.equal(dataBlock.arena, deletedAtBlock.arena)
    bytesOf(arena.memories, dataBlock).set(data)
    const bytes = bytesOf(arena.memories, deletedAtBlock)
    const deletedAt = new Int32Array(bytes.buffer, bytes.byteOffset, documents.length + 2)
    const deletions = documents.filter((one) => one.deletedAt !== neverDeleted).length
    deletedAt.set([...documents.map((one) => one.deletedAt), deletions, 0])
    return {
      blocks: [dataBlock, deletedAtBlock],
      data: openSegmentData(bytesOf(arena.memories, dataBlock)),
      deletedAt,
    }
  }

  fc.assert(
    fc.property(
      fc.array(document, { minLength: 1, maxLength: 70, size: 'max' }),
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.nat(10_000_000),
      fc.array(fc.double({ min: 0.001, max: 1, noNaN: true }), { minLength: 2, maxLength: 2 }),
      (documents, chunks, totalLength, shares) => {
        const counts = shares.map((share) => Math.ceil(share * chunks))
        const clause = { type: 'word', kind: 'any', weight: 1, group: terms.map(String) } as const
        const plan = planKeyword(
          { clauses: [clause], boosts: [] },
          new Map(terms.map((term) => [String(term), term])),
          new Map(),
          { chunks, totalLength, counts: new Map(terms.map((term, i) => [term, counts[i]!])), prefixCounts: new Map() },
          { titleWeight, includeNonCurrent: false },
        )
        const expectedOf = (term: number) =>
          documents.flatMap((one, chunk) => {
            const fields = fieldsOpen(one)
            const sum = (of: (field: Field) => number, weight: number) =>
              (fields.includes('title') ? weight * of(one.title) : 0) + (fields.includes('body') ? of(one.body) : 0)
            const frequency = sum((field) => field.times[term]!, titleWeight)
            if (frequency === 0 || one.deletedAt <= generation) return []
            const weight = maxScoreOfIdf(idfOf(chunks, counts[term]!))
            return [[chunk, bm25(weight, frequency, sum(lengthOf, 1), lengthNorm(chunks, totalLength))] as const]
          })
        const [first, second] = [expectedOf(0), expectedOf(1)]
        const best = new Map(first)
        for (const [chunk, score] of second) best.set(chunk, Math.max(score, best.get(chunk) ?? 0))
        scored += best.size

        const { blocks, data, deletedAt } = build(documents)
        const alternatives = alternativesOf(plan.any[0] as PlannedWord)
        for (const walkedData of [data, { ...data, chunkWord: new Uint32Array() }]) {
          const walked: WalkedSegment = { arena: 0, data: walkedData, deletedAt, generation, filter, plan }
          const taken = (from: GatheredScores) => {
            const all = new Map<number, number>()
            from.take(data.chunks, (chunk, score) => all.set(chunk, score))
            return all
          }
          const alone = (planned: typeof alternatives) => {
            const top = new TopDocuments(documents.length, [data], null)
            top.startSegment(0)
            const matches = kernel.rankAlternatives(walked, planned, top)
            const ranked = top.ranked().map(({ chunk, score }) => [chunk, score] as const)
            assert.equal(matches, ranked.length)
            return new Map(ranked.sort(([a], [b]) => a - b))
          }
          kernel.begin(filter, titleWeight)
          kernel.add(walked, alternatives[0]!)
          assert.deepEqual(taken(kernel.sum), new Map(first))
          for (const planned of alternatives) kernel.raise(walked, planned, kernel.clause)
          assert.deepEqual(taken(kernel.clause), new Map([...best].sort(([a], [b]) => a - b)))
          assert.deepEqual(alone(alternatives.slice(0, 1)), new Map(first))
          assert.deepEqual(alone(alternatives), new Map([...best].sort(([a], [b]) => a - b)))
        }
        for (const block of blocks) arena.free(block)
      },
    ),
    { numRuns: 150 },
  )
  assert.ok(scored > 1000, `the runs should cover more than ${scored} chunks with a score`)
})
