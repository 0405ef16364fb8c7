import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { readableFields, type Scope, type ScopeEntry } from '../../src/access/scope.ts'
import type { AnalysisStore, InputPage, InputQuery, InputRow } from '../../src/analysis/analysis-store.ts'
import type { InputScope } from '../../src/analysis/input-scope.ts'
import type { IndexSource } from '../../src/indexing/index-source.ts'
import { prepareDocument } from '../../src/indexing/prepare-document.ts'
import type { ContentStore } from '../../src/ingest/content-store.ts'
import type { OperatorStore } from '../../src/operator/operator-store.ts'
import { documentsAfter } from './index-source.ts'

export interface AnalysisInputFixture {
  readonly analysis: AnalysisStore
  readonly content: ContentStore
  readonly operator: OperatorStore
  readonly indexSource: IndexSource
}

const startMs = Date.UTC(2026, 0)
const minute = 60_000
const documentCount = 120
const at = <T>(values: readonly T[], i: number): T => values[i % values.length]!

/** The test's knowledge of each version: who may see it, when it arrived, and the state of its chunk's vector. */
interface Known {
  readonly documentId: string
  readonly versionId: string
  readonly versionAt: number
  readonly language: string | null
  readonly vector: 'made' | 'waits' | 'refused' | 'not cut' | 'no body'
}

const datasets = ['a', 'b', 'c']
const columnsOf = (i: number) => ({
  datasetId: at(datasets, i),
  platform: at(['p', 'q'], i >> 1),
  region: at(['gb', null], i >> 3),
  publishedAt: at([null, startMs, startMs + minute, startMs + 2 * minute], i >> 1),
  contentType: at(['post', 'article', null], i),
})

const vectorOf = (i: number, round: number): Known['vector'] =>
  i > 100 && i % 10 === 3
    ? 'not cut'
    : at(['waits', 'made', 'made', 'made', 'made', 'refused', 'made', 'made', 'no body', 'made'] as const, i + round)

async function fill({ content, operator, indexSource }: AnalysisInputFixture): Promise<Known[]> {
  const mark = { actor: 'test', at: startMs }
  const profile = { kind: 'profile.put', provider: 'http', model: 'm', dimensions: 2, status: 'active' } as const
  await operator.commit(
    [
      ...datasets.map((datasetId) => ({ kind: 'dataset.put', datasetId, name: datasetId, description: null }) as const),
      { ...profile, profileId: 'profile', isDefault: true },
    ],
    mark,
  )
  const known: Known[] = []
  // Two rounds: every third document has a second version, an hour later.
  for (const round of [0, 1]) {
    for (let i = 0; i < documentCount; i += round === 0 ? 1 : 3) {
      const versionAt = startMs + i * minute + round * 60 * minute * documentCount
      const language = at(['en', 'de', null], (i >> 2) + round * (i >> 1))
      const vector = vectorOf(i, round)
      const body = vector === 'no body' ? null : `Body ${i} of round ${round}`
      const [result] = await content.ingest(
        [{ ...columnsOf(i), language, externalId: `n-${i}`, title: `T ${round}`, body }],
        versionAt,
      )
      assert.ok(result !== undefined && 'documentId' in result)
      const { documentId, versionId } = result
      known.push({ documentId, versionId, versionAt, language, vector })
    }
  }
  const vectors = new Map(known.map(({ versionId, vector }) => [versionId, vector]))
  for (const document of await documentsAfter(indexSource, 0, { documents: 1000, characters: 1_000_000 })) {
    const prepared = await prepareDocument(document, async () => {})
    const chunks = prepared.chunks.filter(({ versionId }) => vectors.get(versionId) !== 'not cut')
    const idsOf = (state: Known['vector']) =>
      chunks.filter(({ versionId }) => vectors.get(versionId) === state).map(({ chunkId }) => chunkId)
    // Chunked again: a replaced chunk is part of no input.
    await indexSource.putChunks(chunks.map((chunk) => ({ ...chunk, chunkId: `${chunk.chunkId} before` })))
    await indexSource.putChunks(chunks)
    const vector = Float32Array.of(1, 0)
    const made = [...idsOf('made'), ...chunks.map(({ chunkId }) => `${chunkId} before`)]
    await indexSource.putVectors(
      'profile',
      made.map((chunkId) => ({ chunkId, vector })),
    )
    await indexSource.doneWaiting('profile', made)
    await indexSource.refuseVectors('profile', idsOf('refused'))
    await indexSource.putVectors(
      'other',
      chunks.map(({ chunkId }) => ({ chunkId, vector })),
    )
  }
  return known
}

const some = (values: readonly string[]) => fc.subarray([...values], { minLength: 1 })
/** Mostly no limit, because limits everywhere would leave nothing to find. */
const seldom = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value })
const publication = fc.constantFrom(startMs, startMs + minute, startMs + 2 * minute)
const entry: fc.Arbitrary<ScopeEntry> = fc.record({
  datasets: some(datasets),
  platforms: seldom(some(['p', 'q'])),
  languages: seldom(some(['en', 'de'])),
  regions: seldom(some(['gb'])),
  publishedFrom: seldom(publication),
  publishedTo: seldom(publication),
  fields: fc.constant(['body' as const]),
})
const scope: fc.Arbitrary<Scope> = fc.record({ entries: fc.array(entry, { minLength: 1, maxLength: 3 }) })
const moment = fc.oneof(fc.nat(documentCount), fc.nat(documentCount * 62)).map((minutes) => startMs + minutes * minute)
const asText = (ms: number): string => new Date(ms).toISOString()
const limits = fc.record({
  content_types: seldom(some(['post', 'article'])),
  published_from: seldom(publication.map(asText)),
  published_to: seldom(publication.map(asText)),
  created_from: seldom(moment.map(asText)),
  created_to: seldom(moment.map(asText)),
})
const inputScope: fc.Arbitrary<InputScope> = fc.tuple(some(datasets), limits).map(([dataset_ids, chosen]) => ({
  dataset_ids,
  ...(Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== null)) as Omit<
    InputScope,
    'dataset_ids'
  >),
}))

/** The expected input, computed in the plainest way: every version of the input, with or without a vector. */
function expected(known: readonly Known[], query: Pick<InputQuery, 'scopes' | 'inputScope' | 'cutoffAt'>): Known[] {
  const { scopes, inputScope: asked, cutoffAt } = query
  const within = (value: number | null, from: string | undefined, to: string | undefined): boolean =>
    (from === undefined && to === undefined) ||
    (value !== null &&
      (from === undefined || value >= Date.parse(from)) &&
      (to === undefined || value < Date.parse(to)))
  return known
    .filter((version) => version.versionAt <= cutoffAt)
    .filter(
      (version) =>
        !known.some(
          (later) =>
            later.documentId === version.documentId &&
            later.versionAt > version.versionAt &&
            later.versionAt <= cutoffAt,
        ),
    )
    .filter((version) => {
      const ofDocument = known.filter(({ documentId }) => documentId === version.documentId)
      const first = ofDocument[0]!
      const language = version.language ?? ofDocument.at(-1)!.language
      const columns = { ...columnsOf(known.indexOf(first)), language }
      return (
        asked.dataset_ids.includes(columns.datasetId) &&
        scopes.every((one) => readableFields(one, columns) !== null) &&
        (asked.content_types === undefined || asked.content_types.includes(columns.contentType ?? '')) &&
        within(columns.publishedAt, asked.published_from, asked.published_to) &&
        within(first.versionAt, asked.created_from, asked.created_to)
      )
    })
}

export function analysisInputContract(name: string, open: () => Promise<AnalysisInputFixture>): void {
  suite(`the input of a run: ${name}`, () => {
    test('is what both scopes open, as of the cut-off, with a vector of the profile where one is asked for, whose lack is counted; else the documents', {
      timeout: 120_000,
    }, async () => {
      const store = await open()
      const known = await fill(store)
      let found = 0
      let lacking = 0
      let waiting = 0
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            created: scope,
            executed: scope,
            asked: inputScope,
            cutoffAt: moment,
            profileId: fc.constantFrom('profile', 'profile', 'profile', null),
            documents: fc.integer({ min: 1, max: 60 }),
          }),
          async ({ created, executed, asked, cutoffAt, profileId, documents }) => {
            const query = { scopes: [created, executed], inputScope: asked, cutoffAt }
            const rows: InputRow[] = []
            let withoutVector = 0
            let isWaiting = false
            for (const datasetId of asked.dataset_ids) {
              let afterDocument: string | null = null
              do {
                const page: InputPage = await store.analysis.inputRows({
                  ...query,
                  profileId,
                  datasetId,
                  afterDocument,
                  documents,
                  rowsMax: 1000,
                })
                rows.push(...page.rows)
                withoutVector += page.withoutVector
                isWaiting ||= page.isWaiting
                afterDocument = page.nextAfter
              } while (afterDocument !== null)
            }
            found += rows.length
            const versions = expected(known, query)
            const having = (...states: Known['vector'][]) =>
              versions.filter(({ vector }) => states.includes(vector)).map(({ versionId }) => versionId)
            const versionIds = rows.map(({ versionId }) => versionId).sort()
            if (profileId === null) {
              assert.ok(rows.every(({ chunkId }) => chunkId === null))
              assert.deepEqual(versionIds, versions.map(({ versionId }) => versionId).sort())
              assert.deepEqual([withoutVector, isWaiting], [0, false])
              return
            }
            assert.ok(rows.every(({ chunkId }) => chunkId !== null && !chunkId.endsWith('before')))
            assert.deepEqual(versionIds, having('made').sort())
            assert.equal(withoutVector, having('waits', 'refused').length)
            assert.equal(isWaiting, having('waits', 'not cut').length > 0)
            lacking += withoutVector
            waiting += isWaiting ? 1 : 0
          },
        ),
        { numRuns: 200 },
      )
      assert.ok(found > 150 && lacking > 25 && waiting > 10, `found ${found}, lacking ${lacking}, waiting ${waiting}`)
    })

    test('vectors of chunks, as they were stored', async () => {
      const { analysis, ...rest } = await open()
      const [one] = await fill({ analysis, ...rest }).then((known) => known.filter(({ vector }) => vector === 'made'))
      const [document] = await documentsAfter(rest.indexSource, 0, { documents: 1000, characters: 1_000_000 }).then(
        (all) => all.filter(({ documentId }) => documentId === one!.documentId),
      )
      const { chunks } = await prepareDocument(document!, async () => {})
      const ids = chunks.filter(({ versionId }) => versionId === one!.versionId).map(({ chunkId }) => chunkId)
      const read = await analysis.chunkVectors('profile', [...ids, 'chk_nothing'])
      assert.deepEqual(read, [{ chunkId: ids[0], vector: Float32Array.of(1, 0) }])
      assert.deepEqual(await analysis.chunkVectors('profile', []), [])
    })

    test('texts of chunks are cut from the bodies of their versions', async () => {
      const { analysis, content, operator, indexSource } = await open()
      await operator.commit([{ kind: 'dataset.put', datasetId: 'a', name: 'A', description: null }], {
        actor: 'test',
        at: startMs,
      })
      const paragraphs = (of: string) => Array.from({ length: 60 }, (_, i) => `${of} ${i} 🌊 ${'tide '.repeat(40)}`)
      for (let i = 0; i < 20; i++) {
        const body = i === 7 ? null : paragraphs(`Text ${i}`).join('\n\n')
        await content.ingest([{ datasetId: 'a', platform: 'p', externalId: `t-${i}`, title: 'T', body }], startMs + i)
      }
      const expected = new Map<string, string>()
      for (const document of await documentsAfter(indexSource, 0, { documents: 100, characters: 10_000_000 })) {
        const { chunks } = await prepareDocument(document, async () => {})
        await indexSource.putChunks(chunks)
        const body = document.versions[0]!.body ?? ''
        for (const { chunkId, startsAt, endsAt } of chunks) expected.set(chunkId, body.slice(startsAt, endsAt))
      }
      assert.ok(expected.size > 100)
      const read = await analysis.inputTexts([...expected.keys(), 'chk_nothing'])
      assert.deepEqual(new Map(read.map(({ chunkId, text }) => [chunkId, text])), expected)
      assert.deepEqual(await analysis.inputTexts([]), [])
    })

    test('documents of versions, with the snapshot that there was at the cut-off', async () => {
      const { analysis, content, operator } = await open()
      await operator.commit([{ kind: 'dataset.put', datasetId: 'a', name: 'A', description: null }], {
        actor: 'test',
        at: startMs,
      })
      const sent = {
        datasetId: 'a',
        platform: 'p',
        externalId: 'd-1',
        title: 'First',
        body: 'Body',
        language: 'en',
        region: 'gb',
        contentType: 'post',
        publishedAt: startMs - 5,
        author: { external_author_id: 'u1', nickname: 'U' },
        topics: ['x', 'y'],
        tags: ['z'],
        score: 3,
        metrics: { likes: 1 },
      }
      const at = async (minutes: number, changes: object) => {
        const [result] = await content.ingest([{ ...sent, ...changes }], startMs + minutes * minute)
        assert.ok(result !== undefined && 'versionId' in result)
        return result.versionId
      }
      const first = await at(0, {})
      const second = await at(1, { title: 'Second', language: 'de', score: 4, metrics: { likes: 2, shares: 0.5 } })
      const [bare] = await content.ingest(
        [{ datasetId: 'a', platform: 'p', externalId: 'd-2', title: 'Bare' }],
        startMs,
      )
      assert.ok(bare !== undefined && 'versionId' in bare)
      const known = {
        datasetId: 'a',
        platform: 'p',
        region: 'gb',
        contentType: 'post',
        publishedAt: startMs - 5,
        authorId: 'u1',
        topics: ['x', 'y'],
        tags: ['z'],
        classifications: [],
      }
      const read = async (versionId: string, minutes: number) =>
        (await analysis.inputDocuments([versionId], startMs + minutes * minute))[0]
      const then = { ...known, title: 'First', language: 'en', score: 3, metrics: { likes: 1 } }
      assert.deepEqual(await read(first, 0), { versionId: first, document: then })
      const later = { ...then, score: 4, metrics: { likes: 2, shares: 0.5 } }
      assert.deepEqual(await read(first, 1), { versionId: first, document: later })
      assert.deepEqual(await read(second, 1), {
        versionId: second,
        document: { ...later, title: 'Second', language: 'de' },
      })
      assert.deepEqual((await read(bare.versionId, 0))!.document, {
        datasetId: 'a',
        platform: 'p',
        language: null,
        region: null,
        contentType: null,
        publishedAt: null,
        title: 'Bare',
        authorId: null,
        topics: [],
        tags: [],
        classifications: [],
        score: null,
        metrics: {},
      })
      assert.deepEqual(await analysis.inputDocuments(['ver_nothing'], startMs), [])
    })
  })
}
