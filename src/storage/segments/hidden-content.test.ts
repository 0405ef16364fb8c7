import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import * as random from '../../../test/contracts/random-changes.ts'
import { readableFields, type Scope, type ScopeEntry } from '../../access/scope.ts'
import { facetNames } from '../../document/rows.ts'
import type { IndexChange, PutVersion, SearchIndex } from '../../indexing/fed-index.ts'
import { type IndexedColumns, type KeywordRequest, noFilters, type VersionColumns } from '../../search/search-index.ts'

/**
 * Two indexes have the same content as far as a scope may search it, and random other content in a random layout. Their
 * responses are equal to the last byte.
 */
const timeoutMs = 60_000

const open = { platforms: null, languages: null, regions: null, publishedFrom: null, publishedTo: null }

const chunks = fc.array(fc.record({ body: random.body, vectors: fc.array(random.anyVector, { maxLength: 1 }) }), {
  minLength: 1,
  maxLength: 3,
})
const text = fc.record({ title: random.field, chunks })
type Text = typeof text extends fc.Arbitrary<infer T> ? T : never

/** The content that differs between the indexes, for one document. */
const ownDocument = fc.record({
  text,
  /** For documents outside the scope. */
  present: fc.boolean(),
  columns: random.columns,
  /** Put as the same version before the final one. */
  replaced: fc.option(text),
  olderBefore: fc.option(text),
  olderAfter: fc.option(text),
  sortKey: fc.nat(),
})
const document = fc.record({
  columns: random.columns,
  text,
  firstChunk: fc.nat(2),
  mine: ownDocument,
  yours: ownDocument,
})
type Document = typeof document extends fc.Arbitrary<infer T> ? T : never

/** Other changes that happen to an index. */
const history = fc.record({
  hidden: fc.array(fc.record({ columns: random.columns, text }), { maxLength: 6 }),
  temporary: fc.array(fc.record({ columns: random.columns, text }), { maxLength: 6 }),
  batchSizes: fc.array(fc.integer({ min: 3, max: 12 }), { minLength: 1, maxLength: 5 }),
  backgroundSteps: fc.array(fc.nat(6), { minLength: 1, maxLength: 5 }),
  reopened: fc.nat(9).map((draw) => draw === 0),
  parts: fc.integer({ min: 1, max: 4 }),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

/** Usually restricted in one or two ways, so that each kind has visible and hidden content. */
const scope: fc.Arbitrary<Scope> = fc
  .array(
    fc.record({
      narrow: fc.constantFrom(...(['platforms', 'languages', 'regions', 'publishedFrom', 'publishedTo'] as const)),
      datasets: fc.subarray(['d1', 'd2', 'd3'], { minLength: 2 }),
      platforms: fc.constant(['p1']),
      languages: fc.constant(['en']),
      regions: fc.constant(['eu']),
      publishedFrom: fc.integer({ min: 2, max: 4 }),
      publishedTo: fc.integer({ min: 5, max: 7 }),
      fields: fc.constantFrom<ScopeEntry['fields']>(['title'], ['body'], ['title', 'body']),
    }),
    { minLength: 1, maxLength: 2 },
  )
  .map((entries) => ({
    entries: entries.map(({ narrow, datasets, fields, ...values }) => ({
      ...open,
      [narrow]: values[narrow],
      datasets,
      fields,
    })),
  }))

const requests = fc.record({
  query: random.query,
  filters: random.filters.map((filters) => ({ ...filters, includeNonCurrent: false })),
  vector: random.vector(130),
})
type Requests = typeof requests extends fc.Arbitrary<infer T> ? T : never

function put(documentId: string, version: number, columns: IndexedColumns, { title, chunks }: Text): PutVersion {
  const versionId = `${documentId}v${version}`
  const named = chunks.map((chunk, i) => ({ chunkId: `${versionId}c${i}`, ...chunk }))
  return { kind: 'put_version', documentId, versionId, columns, current: true, title, chunks: named }
}

const retired = (documentId: string): IndexChange => ({ kind: 'retire_document', documentId })
const sees = (scope: Scope, columns: VersionColumns) => {
  const fields = readableFields(scope, columns)
  return { title: fields?.has('title') ?? false, body: fields?.has('body') ?? false }
}
const seesNothing = (scope: Scope, columns: VersionColumns) => {
  const { title, body } = sees(scope, columns)
  return !title && !body
}

/** The changes that add one document to one of the indexes. */
function changesOf(
  scope: Scope,
  { columns, text, firstChunk, ...sides }: Document,
  id: string,
  side: 'mine' | 'yours',
) {
  const own = sides[side]
  const seen = sees(scope, columns)
  const isHidden = !seen.title && !seen.body
  if (isHidden && !own.present) return []
  const given = isHidden && seesNothing(scope, own.columns) ? own.columns : columns
  const shared = {
    title: seen.title ? text.title : own.text.title,
    chunks: seen.body ? text.chunks : own.text.chunks,
  }
  const earlier = (version: number, had: Text | null) =>
    had ? [{ ...put(id, version, { ...given, language: own.columns.language }, had), current: false }] : []
  const current = put(id, 1, given, shared)
  const named = current.chunks.map((chunk, i) => ({ ...chunk, chunkId: `${id}v1c${(firstChunk + i) % 3}` }))
  return [
    ...earlier(0, own.olderBefore),
    ...(own.replaced ? [put(id, 1, given, own.replaced)] : []),
    { ...current, chunks: named },
    ...earlier(2, own.olderAfter),
  ]
}

class Feed {
  readonly #index: InProcessSegments
  readonly #history: History
  #position = 0

  constructor(index: InProcessSegments, history: History) {
    this.#index = index
    this.#history = history
  }

  async apply(changes: readonly IndexChange[]): Promise<void> {
    const { batchSizes, backgroundSteps } = this.#history
    for (let from = 0; from < changes.length; ) {
      const size = batchSizes[this.#position % batchSizes.length]!
      this.#index.runBackground(backgroundSteps[this.#position % backgroundSteps.length]!)
      await this.#index.apply({ position: ++this.#position, changes: changes.slice(from, from + size) })
      from += size
    }
  }
}

async function fill(
  index: InProcessSegments,
  scope: Scope,
  documents: readonly Document[],
  side: 'mine' | 'yours',
  history: History,
) {
  await index.clear()
  index.parts = history.parts
  const feed = new Feed(index, history)
  const ordered = documents
    .map((one, i) => ({ sortKey: one[side].sortKey, changes: changesOf(scope, one, `doc${i}`, side) }))
    .sort((a, b) => a.sortKey - b.sortKey)
  const temporary = history.temporary.map(({ columns, text }, i) => put(`doc${i}p`, 1, columns, text))
  const hidden = history.hidden
    .filter(({ columns }) => seesNothing(scope, columns))
    .map(({ columns, text }, i) => put(`doc${i}s`, 1, columns, text))
  await feed.apply([...temporary, ...ordered.flatMap(({ changes }) => changes), ...hidden])
  await feed.apply(temporary.map(({ documentId }) => retired(documentId)))
  if (history.reopened) index.reopen()
  return feed
}

async function answers(index: SearchIndex, scope: Scope, { query, filters, vector }: Requests): Promise<string> {
  const request: KeywordRequest = { query, scope, filters, limit: 100, after: null, otherChunksMax: 3, timeoutMs }
  const first = await index.keyword({ ...request, limit: 2 })
  const after = first.outcome === 'found' ? first.next : null
  const documentIds = ['doc0', 'doc1', 'doc2', 'doc3', 'doc0p', 'doc0s']
  const facets = { of: [...facetNames, { published_at: 'day' as const }], limit: 3 }
  /** Lists of values also count documents without any open text, in which the indexes differ: leave these out. */
  const open = { entries: scope.entries.filter(({ fields }) => fields.includes('title') || fields.includes('body')) }
  const listing = { scope: open, field: 'topics', prefix: '', after: null, limit: 3, timeoutMs } as const
  const near = random.profiles.map(({ profileId, dimensions }) => ({ profileId, vector: vector.slice(0, dimensions) }))
  return JSON.stringify([
    await index.keyword(request),
    first,
    await index.keyword({ ...request, limit: 2, after }),
    await index.score({ documentIds, query, vectors: [{ ...near[0]!, filters }], scope, filters, timeoutMs }),
    await Promise.all(near.map((one) => index.vector({ ...one, scope, filters, topK: 5, timeoutMs }))),
    await index.keyword({ ...request, order: '-score', facets, limit: 3 }),
    await index.values(listing),
  ])
}

/** Every word and a phrase: everything visible has a score, and every count affects it. */
const common: Requests = {
  query: {
    clauses: [
      ...random.words.map((word) => ({ type: 'word' as const, kind: 'any' as const, weight: 1, group: [word] })),
      { type: 'phrase', kind: 'any', weight: 1, groups: [random.words.slice(0, 4), random.words.slice(2)] },
    ],
    boosts: [],
  },
  filters: noFilters,
  vector: Array.from({ length: 130 }, (_, i) => (i % 5) - 2),
}

/** The cases that the runs have covered. */
const covered = { hidden: 0, title: 0, body: 0, matches: 0, merges: 0 }

test('content that a scope may not search does not change a byte of a response', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'segments-'))
  const layout = { sealChunks: 6, segmentChunks: 24 }
  const mine = new InProcessSegments({ path: join(folder, 'mine.db'), ...layout })
  const yours = new InProcessSegments({ path: join(folder, 'yours.db'), ...layout })
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(document, { minLength: 2, maxLength: 10 }),
        fc.oneof(random.scope, scope, scope),
        fc.tuple(history, history),
        fc.array(requests, { maxLength: 2 }),
        fc.array(fc.nat(9), { maxLength: 4 }),
        async (documents, scope, [myHistory, yourHistory], moreRequests, removed) => {
          const feeds = [
            await fill(mine, scope, documents, 'mine', myHistory),
            await fill(yours, scope, documents, 'yours', yourHistory),
          ]
          const compare = async () => {
            for (const one of [common, ...moreRequests]) {
              const answered = await answers(mine, scope, one)
              assert.equal(await answers(yours, scope, one), answered)
              covered.matches += answered.match(/"score":/g)?.length ?? 0
            }
          }
          await compare()
          for (const feed of feeds) await feed.apply(removed.map((i) => retired(`doc${i}`)))
          await compare()
          for (const { columns } of documents) {
            const { title, body } = sees(scope, columns)
            if (!title && !body) covered.hidden++
            else if (!body) covered.title++
            else if (!title) covered.body++
          }
        },
      ),
      { numRuns: 60 },
    )
    covered.merges += mine.merges + yours.merges
  } finally {
    await Promise.all([mine.close(), yours.close()])
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the runs covered content of every kind', () => {
  for (const [what, times] of Object.entries(covered)) assert.ok(times > 0, `they should cover ${what}`)
})
