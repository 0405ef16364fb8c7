import assert from 'node:assert/strict'
import { after, beforeEach, suite, test } from 'node:test'
import { fieldPermissions, type ScopeEntry } from '../../src/access/scope.ts'
import type { IndexSource, SourceDocument } from '../../src/indexing/index-source.ts'
import { prepareDocument } from '../../src/indexing/prepare-document.ts'
import type { ContentStore, IncomingDocument } from '../../src/ingest/content-store.ts'
import type { OperatorStore } from '../../src/operator/operator-store.ts'
import type { SearchSource } from '../../src/search/search-source.ts'
import type { ChunkRecord } from '../../src/search/version-chunks.ts'
import {
  type DocumentField,
  documentFields,
  emptyValues,
  sampledFields,
  sampleValues,
} from '../support/document-fields.ts'
import { plainColumns } from '../support/plain-columns.ts'
import { walkTheWays } from './ways-to-vectors.ts'

/** A fresh, empty store with the ports that fill it. */
export interface IndexSourceFixture {
  readonly source: IndexSource & SearchSource
  readonly content: ContentStore
  readonly operator: OperatorStore
  close(): Promise<void>
}

const startMs = Date.UTC(2026, 0)
const mark = { actor: 'test', at: startMs }
const entry: ScopeEntry = {
  datasets: ['d1'],
  platforms: null,
  languages: null,
  regions: null,
  publishedFrom: null,
  publishedTo: null,
  fields: fieldPermissions,
}
const everything = { entries: [entry] }
/** The existing documents only. Erased ones are tested elsewhere. */
export const documentsAfter = async (
  source: IndexSource,
  ...asked: Parameters<IndexSource['documentsAfter']>
): Promise<SourceDocument[]> =>
  (await source.documentsAfter(...asked)).filter((one): one is SourceDocument => !('isErased' in one))
const wide = { documents: 1000, characters: 1_000_000 }
const profile = (profileId: string, isDefault: boolean) =>
  ({
    kind: 'profile.put',
    profileId,
    provider: 'http',
    model: profileId,
    dimensions: 3,
    status: 'active',
    isDefault,
  }) as const

/** The contract of every IndexSource. */
export function checkIndexSource(name: string, openStore: () => Promise<IndexSourceFixture>, runs: number): void {
  suite(`index source: ${name}`, () => {
    let store: IndexSourceFixture
    let source: IndexSource & SearchSource
    let clockMs = startMs

    beforeEach(async () => {
      await store?.close()
      store = await openStore()
      source = store.source
      clockMs = startMs
      await store.operator.commit(
        [
          { kind: 'dataset.put', datasetId: 'd1', name: 'd1', description: null },
          profile('old', false),
          profile('m', true),
        ],
        mark,
      )
    })
    after(() => store.close())

    /** Each call is a minute after the previous one. */
    async function send(externalId: string, fields: Partial<IncomingDocument> = {}): Promise<string> {
      clockMs += 60_000
      const document = { datasetId: 'd1', platform: 'p1', externalId, title: 'T', body: `Body of ${externalId}.` }
      const [result] = await store.content.ingest([{ ...document, ...fields }], clockMs)
      assert.ok(result !== undefined && 'documentId' in result)
      return result.documentId
    }

    /** Makes and stores chunks as indexing does; one for each text here. */
    async function keep(documents: readonly SourceDocument[]): Promise<ChunkRecord[]> {
      const chunks: ChunkRecord[] = []
      for (const document of documents) chunks.push(...(await prepareDocument(document, async () => {})).chunks)
      await source.putChunks(chunks)
      return chunks
    }

    test('documents come in the order of their last change, each once, with what changed', async () => {
      const first = await send('a', { language: 'en', region: 'GB', publishedAt: 5, contentType: 'post' })
      const second = await send('b')
      const [a, b] = await documentsAfter(source, 0, wide)
      assert.deepEqual([a!.documentId, b!.documentId], [first, second])
      assert.ok(0 < a!.revision && a!.revision < b!.revision)
      assert.deepEqual(a!.columns, {
        ...plainColumns,
        datasetId: 'd1',
        platform: 'p1',
        language: 'en',
        region: 'GB',
        publishedAt: 5,
        contentType: 'post',
      })
      assert.deepEqual(
        a!.versions.map(({ current, language, title, body, vectors }) => ({ current, language, title, body, vectors })),
        [{ current: true, language: 'en', title: 'T', body: 'Body of a.', vectors: [] }],
      )
      assert.equal(await source.newestRevision(), b!.revision)
      assert.deepEqual(await documentsAfter(source, b!.revision, wide), [])
      assert.deepEqual(
        (await documentsAfter(source, a!.revision, wide)).map(({ documentId }) => documentId),
        [second],
      )
    })

    test('a new version comes alone to who has the old one, and after it to who has none', async () => {
      const documentId = await send('a')
      const seen = await source.newestRevision()
      await send('a', { body: 'Another body.' })
      const [later] = await documentsAfter(source, seen, wide)
      assert.deepEqual(
        later!.versions.map(({ body, current }) => [body, current]),
        [['Another body.', true]],
      )
      const [whole, ...none] = await documentsAfter(source, 0, wide)
      assert.deepEqual(none, [])
      assert.equal(whole!.documentId, documentId)
      assert.deepEqual(
        whole!.versions.map(({ body, current }) => [body, current]),
        [
          ['Body of a.', false],
          ['Another body.', true],
        ],
      )
    })

    test('changed columns come without a version; what the index does not hold comes not at all', async () => {
      await send('a', { region: 'GB' })
      const seen = await source.newestRevision()
      await send('a', {
        region: 'GB',
        metrics: { likes: 3 },
        url: 'https://example.com/a',
        author: { nickname: 'Ann' },
      })
      await send('a', { facts: [{ kind: 'other', level: 'document', metadata: {} }], quality: 0.5 })
      assert.deepEqual(await documentsAfter(source, seen, wide), [])
      await send('a', { region: 'DE' })
      const [later] = await documentsAfter(source, seen, wide)
      assert.deepEqual([later!.columns.region, later!.versions], ['DE', []])
      await send('a', { status: 'unavailable' })
      const [gone] = await documentsAfter(source, later!.revision, wide)
      assert.deepEqual([gone!.columns.status, gone!.versions], ['unavailable', []])
    })

    test('all that searches filter, order and count by comes when it changes, and then as it is', async () => {
      await send('a')
      const known = { ...plainColumns, datasetId: 'd1', platform: 'p1' }
      const category = (code: string) => [
        { kind: 'category', level: 'document' as const, metadata: { label_code: code } },
      ]
      const changes = [
        [{ author: { external_author_id: 'u1' } }, { externalAuthorId: 'u1' }],
        [{ topics: ['x', 'y'] }, { topics: ['x', 'y'] }],
        [{ tags: ['z'] }, { tags: ['z'] }],
        [{ facts: category('sea') }, { classifications: ['sea'] }],
        [{ score: -7 }, { score: -7 }],
        [
          { score: null, topics: null, author: null },
          { score: null, topics: [], externalAuthorId: null },
        ],
        [
          { facts: [], tags: [] },
          { classifications: [], tags: [] },
        ],
      ] as const
      for (const [sent, expected] of changes) {
        const seen = await source.newestRevision()
        await send('a', sent)
        Object.assign(known, expected)
        const [later] = await documentsAfter(source, seen, wide)
        assert.deepEqual(later!.columns, known)
        assert.deepEqual(later!.versions, [])
        const [read] = await source.indexedColumns([later!.documentId, 'doc_gone'])
        const { documentId, currentVersionId, ...columns } = read!
        assert.deepEqual([documentId, columns], [later!.documentId, later!.columns])
        assert.match(currentVersionId, /^ver_/)
        await send('a', sent)
        assert.deepEqual(await documentsAfter(source, later!.revision, wide), [])
      }
    })

    test('a version that has no language of its own comes again when the language of its document changes', async () => {
      await send('a', { title: 'None' })
      await send('a', { title: 'French', language: 'fr' })
      const seen = await source.newestRevision()
      const languages = async (after: number) => {
        const [document] = await documentsAfter(source, after, wide)
        return [document!.columns.language, ...document!.versions.map(({ title, language }) => [title, language])]
      }
      assert.deepEqual(await languages(0), ['fr', ['None', null], ['French', 'fr']])
      await send('a', { title: 'German', language: 'de' })
      assert.deepEqual(await languages(seen), ['de', ['None', null], ['German', 'de']])
      const then = await source.newestRevision()
      await send('a', { title: 'German', language: 'en' })
      assert.deepEqual(await languages(then), ['en', ['None', null], ['German', 'en']])
      const later = await source.newestRevision()
      await send('a', { title: 'German', region: 'GB' })
      assert.deepEqual(await languages(later), ['en'])
    })

    test('the title and the language of an earlier version are its own, or the language that of its document', async () => {
      await send('a', { title: 'None' })
      await send('a', { title: 'French', language: 'fr' })
      await send('a', { title: 'German', language: 'de' })
      const [document] = await documentsAfter(source, 0, wide)
      const [none, french, german] = document!.versions.map(({ versionId }) => versionId)
      const heads = await source.versionHeads([none!, french!, 'ver_unknown'])
      assert.deepEqual(
        heads.toSorted((one, other) => (one.versionId < other.versionId ? -1 : 1)),
        [
          { versionId: none, title: 'None', language: 'de' },
          { versionId: french, title: 'French', language: 'fr' },
        ],
      )
      assert.deepEqual(await source.versionHeads([]), [])
      const chunks = await keep([document!])
      const ids = chunks.map(({ chunkId }) => chunkId)
      const shown = await source.shownChunks(ids, false, everything)
      assert.deepEqual(
        shown.map((chunk) => [chunk.versionId, chunk.language, chunk.document.language]).sort(),
        [
          [none, null, 'de'],
          [french, 'fr', 'fr'],
          [german, 'de', 'de'],
        ].sort(),
      )
    })

    test('a step is bounded by documents and by characters, and is never empty while there is something', async () => {
      for (let i = 0; i < 6; i++) await send(`l${i}`, { body: 'x'.repeat(100) })
      assert.equal((await documentsAfter(source, 0, { documents: 4, characters: 1e6 })).length, 4)
      const few = await documentsAfter(source, 0, { documents: 100, characters: 150 })
      assert.ok(few.length >= 1 && few.length <= 2)
      assert.equal((await documentsAfter(source, 0, { documents: 100, characters: 1 })).length, 1)
      let position = 0
      const ids = new Set<string>()
      for (;;) {
        const step = await documentsAfter(source, position, { documents: 2, characters: 150 })
        if (step.length === 0) break
        for (const { documentId } of step) ids.add(documentId)
        position = step.at(-1)!.revision
      }
      assert.equal(ids.size, 6)
    })

    /** The state of each chunk, for the default profile or another. */
    async function states(ids: readonly string[], profileId = 'm'): Promise<string[]> {
      const waiting = new Set(await source.stillWaiting(profileId, ids))
      const made = new Set((await source.vectors(profileId, ids)).map(({ chunkId }) => chunkId))
      return ids.map((id) => [made.has(id) ? 'made' : '', waiting.has(id) ? 'waits' : ''].join(''))
    }
    const idsOf = (chunks: readonly ChunkRecord[]): string[] => chunks.map(({ chunkId }) => chunkId)
    const ones = (ids: readonly string[]) => ids.map((chunkId) => ({ chunkId, vector: Float32Array.of(1, 0, 0) }))

    test('chunks with a body wait for a vector of the default profile, whoever puts them; again changes nothing', async () => {
      await send('a')
      await send('title', { body: null })
      const documents = await documentsAfter(source, 0, wide)
      const chunks = await keep(documents)
      assert.equal(chunks.length, 2)
      const waiting = await source.waitingChunks('m', 10)
      assert.deepEqual(
        waiting.map(({ chunkId, documentId, text, vector }) => [chunkId, documentId, text, vector]),
        [[chunks[0]!.chunkId, chunks[0]!.documentId, 'Body of a.', null]],
      )
      assert.deepEqual(await source.waitingChunks('old', 10), [])
      await keep(documents)
      assert.equal((await source.waitingChunks('m', 10)).length, 1)
      await source.putVectors('m', ones([chunks[0]!.chunkId]))
      await source.doneWaiting('m', [chunks[0]!.chunkId])
      await keep(documents)
      assert.deepEqual(await states(idsOf(chunks)), ['made', ''])
      assert.deepEqual(await source.vectorGaps(), { lost: 0, refused: 0 })
    })

    test('a chunk stops waiting only when its vector is in the store', async () => {
      await send('a')
      await send('b')
      const ids = idsOf(await keep(await documentsAfter(source, 0, wide)))
      await source.putVectors('m', ones(ids.slice(0, 1)))
      await source.doneWaiting('m', [...ids, 'chk_none'])
      assert.deepEqual(await states(ids), ['made', 'waits'])
    })

    test('a text that the model refuses waits no longer, is counted, and is tried again when it is put again', async () => {
      await send('a')
      await send('b')
      const documents = await documentsAfter(source, 0, wide)
      const ids = idsOf(await keep(documents))
      await source.putVectors('m', ones(ids.slice(1)))
      await source.doneWaiting('m', ids)
      // The second chunk has a vector by now, so there is nothing to refuse.
      await source.refuseVectors('m', ids)
      assert.deepEqual(await states(ids), ['', 'made'])
      assert.deepEqual(await source.vectorGaps(), { lost: 0, refused: 1 })
      assert.equal(await source.awaitVectors('m', ids), 0)
      assert.equal((await source.backlog(await source.newestRevision())).waitingVectors, 0)
      await keep(documents)
      assert.deepEqual(await states(ids), ['waits', 'made'])
      assert.deepEqual(await source.vectorGaps(), { lost: 0, refused: 0 })
    })

    test('a version that is cut otherwise: what it was cut into before is shown, and is nothing else any more', async () => {
      await send('a')
      await send('b')
      const documents = await documentsAfter(source, 0, wide)
      const [before, other] = await keep(documents)
      await source.putVectors('m', ones([before!.chunkId]))
      await source.putVectors('old', ones([before!.chunkId]))
      const cut = (n: number): ChunkRecord => ({ ...before!, chunkId: `${before!.chunkId}${n}`, ordinal: n })
      await source.putChunks([cut(0), cut(1)])
      const ids = [before!, cut(0), cut(1), other!].map(({ chunkId }) => chunkId)
      assert.deepEqual(await states(ids), ['', 'waits', 'waits', 'waits'])
      assert.deepEqual(await states(ids, 'old'), ['', '', '', ''])
      assert.equal(await source.chunkCount(), 3)
      assert.deepEqual(await source.vectorGaps(), { lost: 0, refused: 0 })
      // An index that still has the chunk may report that it lacks the vector.
      assert.equal(await source.awaitVectors('m', [before!.chunkId]), 0)
      assert.deepEqual(await states([before!.chunkId]), [''])
      assert.equal((await source.chunkTexts([before!.chunkId])).length, 1)
      assert.equal((await documentsAfter(source, 0, wide))[0]!.versions[0]!.vectors.length, 0)
      // A new default profile does not request it either. It returns when the chunk is put again.
      await store.operator.commit([profile('old', true)], mark)
      assert.deepEqual(await states(ids, 'old'), ['', 'waits', 'waits', 'waits'])
      await keep(documents)
      assert.deepEqual(await states(ids, 'old'), ['waits', '', '', 'waits'])
      assert.equal(await source.chunkCount(), 2)
    })

    test('an index that lacks a vector can ask for it, of any chunk with a body', async () => {
      for (const name of ['a', 'b', 'c']) await send(name)
      await send('title', { body: null })
      const ids = idsOf(await keep(await documentsAfter(source, 0, wide)))
      await source.putVectors('old', ones(ids.slice(0, 1)))
      assert.equal(await source.awaitVectors('old', [...ids, 'chk_none']), 2)
      assert.deepEqual(await states(ids, 'old'), ['made', 'waits', 'waits', ''])
      assert.equal(await source.awaitVectors('old', ids), 0)
      assert.equal(await source.awaitVectors('old', []), 0)
    })

    test('a vector is kept bit by bit, comes back with its version, and is off the list only when that is said', async () => {
      await send('a')
      const [chunk] = await keep(await documentsAfter(source, 0, wide))
      const vector = Float32Array.of(0.1, -3.5e-20, 7)
      await source.putVectors('m', [{ chunkId: chunk!.chunkId, vector }])
      assert.deepEqual((await source.waitingChunks('m', 10))[0]!.vector, vector)
      await source.doneWaiting('m', [chunk!.chunkId])
      assert.deepEqual(await source.waitingChunks('m', 10), [])
      const [again] = await documentsAfter(source, 0, wide)
      assert.deepEqual(again!.versions[0]!.vectors, [{ chunkId: chunk!.chunkId, profileId: 'm', vector }])
      assert.deepEqual(await source.vectors('m', [chunk!.chunkId, 'chk_none']), [
        { chunkId: chunk!.chunkId, documentId: chunk!.documentId, vector },
      ])
      const other = Float32Array.of(1, 2, 3)
      await source.putVectors('m', [{ chunkId: chunk!.chunkId, vector: other }])
      assert.deepEqual((await source.vectors('m', [chunk!.chunkId]))[0]!.vector, other)
      // Vectors of an unregistered profile are not returned with the version.
      await source.putVectors('unknown', [{ chunkId: chunk!.chunkId, vector }])
      assert.equal((await documentsAfter(source, 0, wide))[0]!.versions[0]!.vectors.length, 1)
    })

    test('waiting chunks come newest first, as many as asked for', async () => {
      for (let i = 0; i < 5; i++) await send(`w${i}`)
      const chunks = await keep(await documentsAfter(source, 0, wide))
      const ids = chunks
        .map(({ chunkId }) => chunkId)
        .sort()
        .reverse()
      const waiting = await source.waitingChunks('m', 3)
      assert.deepEqual(
        waiting.map(({ chunkId }) => chunkId),
        ids.slice(0, 3),
      )
      await source.putVectors('m', ones(ids.slice(0, 4)))
      await source.doneWaiting('m', ids.slice(0, 4))
      assert.deepEqual(
        (await source.waitingChunks('m', 3)).map(({ chunkId }) => chunkId),
        ids.slice(4),
      )
    })

    test('a profile that becomes the default: every chunk with a body waits for it, but for those that have its vector', async () => {
      for (const name of ['a', 'b', 'c']) await send(name)
      await send('title', { body: null })
      const chunks = await keep(await documentsAfter(source, 0, wide))
      const seen = await source.newestRevision()
      await send('a', { body: 'A new body of a.' })
      chunks.push(...(await keep(await documentsAfter(source, seen, wide))))
      const ids = idsOf(chunks)
      await source.putVectors('old', ones([ids[1]!]))
      await store.operator.commit([profile('old', true)], mark)
      // Includes old versions, because searches can request them and analysis can use an earlier cut-off.
      assert.deepEqual(await states(ids, 'old'), ['waits', 'made', 'waits', '', 'waits'])
      assert.deepEqual(await source.activeProfiles(), [{ profileId: 'old', languages: null }])
      assert.deepEqual(await source.vectorGaps(), { lost: 0, refused: 0 })
      // Chunks that wait for the former default go on waiting, in case it becomes the default again. New chunks do not
      // wait for it.
      await send('d')
      const [late] = await keep(await documentsAfter(source, seen + 1, wide))
      assert.deepEqual([await states([late!.chunkId]), await states([late!.chunkId], 'old')], [[''], ['waits']])
      await store.operator.commit([profile('m', true)], mark)
      assert.deepEqual(await states([...ids, late!.chunkId]), ['waits', 'waits', 'waits', '', 'waits', 'waits'])
      await store.operator.commit([profile('m', true)], mark)
      assert.deepEqual(await source.vectorGaps(), { lost: 0, refused: 0 })
    })

    test('a chunk whose text another one has a vector of is given that, of the same profile', async () => {
      await send('a', { body: 'The same text.' })
      const [first] = await keep(await documentsAfter(source, 0, wide))
      await source.putVectors('m', ones([first!.chunkId]))
      await source.doneWaiting('m', [first!.chunkId])
      const seen = await source.newestRevision()
      await send('copy', { body: 'The same text.' })
      await send('other', { body: 'Another text.' })
      const [copy, other] = await keep(await documentsAfter(source, seen, wide))
      const twins = new Map(
        (await source.waitingChunks('m', 10)).map(({ chunkId, vector, twin }) => [chunkId, [vector, twin]]),
      )
      assert.deepEqual(twins.get(copy!.chunkId), [null, Float32Array.of(1, 0, 0)])
      assert.deepEqual(twins.get(other!.chunkId), [null, null])
      await store.operator.commit([profile('old', true)], mark)
      assert.ok((await source.waitingChunks('old', 10)).every(({ twin }) => twin === null))
    })

    test('a profile made besides the default one: texts that say one of its languages wait for it too', async () => {
      await send('before', { language: 'en' })
      await keep(await documentsAfter(source, 0, wide))
      const make = (languages: readonly string[] | null) =>
        store.operator.commit([{ kind: 'profiles.make', profiles: [{ profileId: 'old', languages }] }], mark)
      assert.deepEqual(await make(['en', 'fr']), ['updated'])
      assert.deepEqual(await make(['en', 'fr']), ['unchanged'])
      assert.deepEqual(await source.activeProfiles(), [
        { profileId: 'm', languages: null },
        { profileId: 'old', languages: ['en', 'fr'] },
      ])
      for (const language of ['en', 'fr', 'de', null]) await send(`in ${language}`, { language })
      const chunks = await keep(await documentsAfter(source, 0, wide))
      const ids = idsOf(chunks)
      const own = ['waits', 'waits', 'waits', '', '']
      assert.deepEqual(await states(ids, 'old'), own)
      assert.deepEqual(
        await states(ids),
        ids.map(() => 'waits'),
      )
      assert.equal((await source.backlog(await source.newestRevision())).waitingVectors, 5 + 3)
      assert.deepEqual(await source.vectorGaps(), { lost: 0, refused: 0 })
      // Requests of an index that lacks the other vectors have no effect.
      assert.equal(await source.awaitVectors('old', ids), 0)
      await make(null)
      assert.deepEqual(
        await states(ids, 'old'),
        ids.map(() => 'waits'),
      )
      await store.operator.commit([{ kind: 'profiles.make', profiles: [] }], mark)
      assert.deepEqual(await source.activeProfiles(), [{ profileId: 'm', languages: null }])
      assert.equal((await source.backlog(await source.newestRevision())).waitingVectors, 5)
    })

    test('before there is a default profile nothing waits, and everything when there is one', async () => {
      await store.close()
      store = await openStore()
      source = store.source
      await store.operator.commit([{ kind: 'dataset.put', datasetId: 'd1', name: 'd1', description: null }], mark)
      await send('a')
      const ids = idsOf(await keep(await documentsAfter(source, 0, wide)))
      assert.deepEqual(await source.activeProfiles(), [])
      assert.deepEqual(await source.vectorGaps(), { lost: 0, refused: 0 })
      await store.operator.commit([profile('m', true)], mark)
      assert.deepEqual(await states(ids), ['waits'])
    })

    test('the backlog: changed documents above the position, vectors of the default profile, the oldest of both', async () => {
      assert.deepEqual(await source.backlog(0), { documents: 0, waitingVectors: 0, oldestAt: null })
      await send('a')
      const firstMs = clockMs
      await send('b')
      const seen = await source.newestRevision()
      assert.deepEqual(await source.backlog(0), { documents: 2, waitingVectors: 0, oldestAt: firstMs })
      const chunks = await keep(await documentsAfter(source, 0, wide))
      await source.awaitVectors('old', idsOf(chunks))
      assert.deepEqual(await source.backlog(seen), { documents: 0, waitingVectors: 2, oldestAt: firstMs })
      await source.putVectors('m', ones(idsOf(chunks)))
      await source.doneWaiting('m', idsOf(chunks))
      // Vectors are not made for a profile that is no longer the default.
      assert.deepEqual(await source.backlog(seen), { documents: 0, waitingVectors: 0, oldestAt: null })
    })

    test('the backlog is counted no further than asked, and the oldest told all the same', async () => {
      await send('a')
      const firstMs = clockMs
      for (const id of ['b', 'c', 'd']) await send(id)
      assert.deepEqual(await source.backlog(0, 3), { documents: 3, waitingVectors: 0, oldestAt: firstMs })
      assert.deepEqual(await source.backlog(0, 4), await source.backlog(0))
      await keep(await documentsAfter(source, 0, wide))
      const seen = await source.newestRevision()
      assert.deepEqual(await source.backlog(seen, 3), { documents: 0, waitingVectors: 3, oldestAt: firstMs })
      assert.deepEqual(await source.backlog(seen, 5), { documents: 0, waitingVectors: 4, oldestAt: firstMs })
    })

    test('what is shown: documents as they are, chunks with the text and title of their own version', async () => {
      const a = await send('a', { title: 'Old', body: 'Old 🌊 body.', language: 'en', quality: 0.5 })
      const old = (await keep(await documentsAfter(source, 0, wide)))[0]!
      await send('a', { title: 'New', body: 'New body.', language: 'de' })
      const fresh = (await keep(await documentsAfter(source, 1, wide)))[0]!
      const [document, ...none] = await source.results([a, 'doc_none'])
      assert.deepEqual(none, [])
      assert.deepEqual([document!.documentId, document!.title, document!.language], [a, 'New', 'de'])
      assert.deepEqual([document!.quality, document!.currentVersionId], [0.5, fresh.versionId])
      const ids = [old.chunkId, fresh.chunkId, 'chk_none']
      const texts = new Map((await source.chunkTexts(ids)).map((text) => [text.chunkId, text]))
      assert.deepEqual(texts.get(old.chunkId), {
        chunkId: old.chunkId,
        documentId: a,
        versionId: old.versionId,
        ordinal: 0,
        title: 'Old',
        language: 'en',
        text: 'Old 🌊 body.',
      })
      assert.equal(texts.get(fresh.chunkId)!.text, 'New body.')
      assert.equal(texts.size, 2)
      const shown = await source.shownChunks(ids, false, everything)
      assert.equal(shown.length, 2)
      for (const { document: columns, details, ...text } of shown) {
        assert.equal(details, null)
        assert.deepEqual(text, texts.get(text.chunkId))
        const language = text.versionId === old.versionId ? 'en' : 'de'
        assert.deepEqual([columns.language, columns.datasetId, columns.platform], [language, 'd1', 'p1'])
      }
      assert.deepEqual(
        [await source.results([]), await source.chunkTexts([]), await source.shownChunks([], true, everything)],
        [[], [], []],
      )
    })

    test('what is shown has the texts that a scope opens, each by the language of its version', async () => {
      await send('a', { body: 'In French.', language: 'fr' })
      await send('a', { body: 'In none.', language: null })
      await send('a', { body: 'In German.', language: 'de', region: 'DE' })
      const chunks = await keep(await documentsAfter(source, 0, wide))
      const texts = async (...entries: Partial<ScopeEntry>[]) =>
        (
          await source.shownChunks(
            chunks.map(({ chunkId }) => chunkId),
            false,
            { entries: entries.map((one) => ({ ...entry, ...one })) },
          )
        )
          .map(({ text }) => text)
          .sort()
      assert.deepEqual(await texts({}), ['In French.', 'In German.', 'In none.'])
      assert.deepEqual(await texts({ fields: ['title'] }), ['', '', ''])
      const titles = { fields: ['title'] as const }
      assert.deepEqual(await texts(titles, { languages: ['fr'] }), ['', '', 'In French.'])
      assert.deepEqual(await texts(titles, { languages: ['de'] }), ['', 'In German.', 'In none.'])
      assert.deepEqual(await texts(titles, { languages: ['de'], regions: ['GB'] }), ['', '', ''])
      assert.deepEqual(await texts(titles, { fields: ['body', 'facts'], languages: ['de', 'fr'] }), [
        'In French.',
        'In German.',
        'In none.',
      ])
    })

    test('what else is shown of a document: as it is now, one for each that is there', async () => {
      const author = { external_author_id: 'u1', nickname: 'Tern', biography: 'Long.', extra: { nickname: 'other' } }
      const isDetail = ({ result }: Pick<DocumentField, 'result'>) => result === 'details'
      const sent = sampleValues('property', sampledFields.filter(isDetail))
      const none = emptyValues('property', documentFields.filter(isDetail))
      await send('a', { ...sent, language: 'fr', author })
      await send('a', { title: 'Another', language: 'de' })
      await send('b', { author: { nickname: 'Nameless' } })
      await send('c')
      const documents = await documentsAfter(source, 0, wide)
      const current = new Set(
        documents.flatMap(({ versions }) => versions.flatMap((one) => (one.current ? one.versionId : []))),
      )
      const chunks = (await keep(documents)).filter(({ versionId }) => current.has(versionId))
      const ids = [...chunks.map(({ chunkId }) => chunkId), 'chk_gone']
      const shown = await source.shownChunks(ids, true, everything)
      assert.deepEqual(
        shown.map(({ details }) => details!).sort((one, other) => (one.externalId < other.externalId ? -1 : 1)),
        [
          {
            ...sent,
            externalId: 'a',
            author: { externalAuthorId: 'u1', nickname: 'Tern' },
            language: 'de',
          },
          {
            ...none,
            externalId: 'b',
            author: { externalAuthorId: null, nickname: 'Nameless' },
            language: null,
          },
          { ...none, externalId: 'c', language: null },
        ],
      )
      // Includes a chunk of the earlier version: the document has its current values.
      const all = (await keep(documents)).map(({ chunkId }) => chunkId)
      const languages = (await source.shownChunks(all, true, everything)).map(
        ({ details }) => `${details!.externalId} ${details!.language}`,
      )
      assert.deepEqual(languages.sort(), ['a de', 'a de', 'b null', 'c null'])
    })

    test('odd texts are cut where their chunks were cut', async () => {
      const body = `${'👩‍👩‍👧 e\u0301 字 '.repeat(300)}\n\n${'ก'.repeat(5000)}\u0001${'x'.repeat(5000)}`
      await send('odd', { body })
      const [document] = await documentsAfter(source, 0, wide)
      assert.equal(document!.versions[0]!.body, body)
      const chunks = await keep([document!])
      assert.ok(chunks.length > 1)
      const texts = new Map(
        (await source.chunkTexts(chunks.map(({ chunkId }) => chunkId))).map((one) => [one.chunkId, one]),
      )
      for (const { chunkId, startsAt, endsAt } of chunks)
        assert.equal(texts.get(chunkId)!.text, body.slice(startsAt, endsAt))
    })

    test('what another process made can be followed: what still waits, and what there is', async () => {
      for (const name of ['a', 'b', 'c']) await send(name)
      const ids = (await keep(await documentsAfter(source, 0, wide))).map(({ chunkId }) => chunkId).sort()
      assert.deepEqual([...(await source.stillWaiting('m', [...ids, 'chk_none']))].sort(), ids)
      assert.deepEqual(await source.stillWaiting('old', ids), [])
      assert.deepEqual(await source.stillWaiting('m', []), [])
      const made = ids.slice(0, 2).map((chunkId, i) => ({ chunkId, vector: Float32Array.of(i, 1, 2) }))
      await source.putVectors('m', made)
      await source.putVectors('old', made.slice(0, 1))
      await source.doneWaiting('m', ids.slice(0, 2))
      assert.deepEqual(await source.stillWaiting('m', ids), ids.slice(2))
      const found = await source.vectors('m', ids)
      assert.deepEqual(
        new Map(found.map(({ chunkId, vector }) => [chunkId, vector])),
        new Map(made.map(({ chunkId, vector }) => [chunkId, vector])),
      )
      assert.ok(found.every(({ documentId }) => documentId.startsWith('doc_')))
      assert.deepEqual([await source.vectors('m', []), await source.stillWaiting('m', [])], [[], []])
    })

    test('whatever way a chunk takes, its vector is not lost', { timeout: 240_000 }, () => walkTheWays(openStore, runs))

    test('many at once', async () => {
      for (let i = 0; i < 150; i++) await send(`m${i}`)
      const chunks = await keep(await documentsAfter(source, 0, wide))
      const ids = chunks.map(({ chunkId }) => chunkId)
      assert.equal((await source.chunkTexts(ids)).length, 150)
      assert.equal((await source.results(chunks.map(({ documentId }) => documentId))).length, 150)
      await source.putVectors(
        'm',
        ids.map((chunkId, i) => ({ chunkId, vector: Float32Array.of(i, 1, 2) })),
      )
      assert.equal((await source.vectors('m', ids)).length, 150)
      await source.doneWaiting('m', ids)
      assert.equal((await source.backlog(await source.newestRevision())).waitingVectors, 0)
    })
  })
}
