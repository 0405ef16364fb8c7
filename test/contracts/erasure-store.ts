import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { AccessStore } from '../../src/access/access-store.ts'
import type { AnalysisStore } from '../../src/analysis/analysis-store.ts'
import type { CatalogStore } from '../../src/catalog/catalog-store.ts'
import type { ChangeLog } from '../../src/changes/change-log.ts'
import { eventTypes } from '../../src/changes/change-log.ts'
import type { ExportSource } from '../../src/export/export-source.ts'
import type { IndexSource } from '../../src/indexing/index-source.ts'
import { prepareDocument } from '../../src/indexing/prepare-document.ts'
import type { ContentStore, IncomingDocument } from '../../src/ingest/content-store.ts'
import type { ErasureStore, Selection } from '../../src/operator/erasure-store.ts'
import type { OperatorStore } from '../../src/operator/operator-store.ts'
import { firstIdAt, idTimeMs, newId } from '../../src/platform/ids.ts'
import { eventsOf, openScope } from './content-store.ts'
import { followed, followedStep } from './erasure-follower.ts'

/** A fresh, empty store with the ports that fill it and read it. */
export interface ErasureFixture {
  readonly erasures: ErasureStore
  readonly content: ContentStore
  readonly catalog: CatalogStore
  readonly changes: ChangeLog
  readonly operator: OperatorStore
  readonly indexSource: IndexSource
  readonly access: AccessStore
  readonly analysis: AnalysisStore
  readonly exportSource: ExportSource
  /** Every value of every row, as text. */
  dump(): Promise<string>
  close(): Promise<void>
}

const startMs = Date.UTC(2026, 0)
const mark = (at: number) => ({ actor: 'test', at })
const profileId = 'profile'

/** The identity of one document. Small numbers, so that many steps affect the same documents. */
const identity = fc.record({ dataset: fc.nat(1), platform: fc.nat(1), name: fc.nat(3) })
type Identity = typeof identity extends fc.Arbitrary<infer T> ? T : never

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ send: identity, text: fc.nat(3), author: fc.nat(1) }) },
  {
    weight: 2,
    arbitrary: fc.record({ erase: fc.array(identity, { minLength: 1, maxLength: 3 }), keep: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ eraseAuthor: fc.nat(1), dataset: fc.nat(1), platform: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ eraseDataset: fc.nat(1), deletes: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ lift: identity }) },
  { weight: 2, arbitrary: fc.record({ index: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ remove: fc.integer({ min: 1, max: 3 }) }) },
)

interface ModelDocument {
  readonly documentId: string
  author: number
  /** The texts of all its versions. */
  readonly texts: string[]
}

const keyOf = ({ dataset, platform, name }: Identity): string => `d${dataset} p${platform} e${name}`
const plain = ({ dataset, platform, name }: Identity) => ({
  datasetId: `d${dataset}`,
  platform: `p${platform}`,
  externalId: `e${name}`,
})

/**
 * A random walk of sending, erasing, lifting, indexing and removing in any order, beside the plainest model: the
 * documents that exist, their texts, and the documents that are refused. Removing runs in small portions, like a
 * process that is killed now and then. Chunks and vectors are stored for documents that were read some steps earlier.
 */
async function walk(store: ErasureFixture, steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]) {
  const { erasures, content, catalog, changes, operator, indexSource } = store
  await operator.commit(
    [
      { kind: 'dataset.put', datasetId: 'd0', name: 'd0', description: null },
      { kind: 'dataset.put', datasetId: 'd1', name: 'd1', description: null },
      {
        kind: 'profile.put',
        profileId,
        provider: 'http',
        model: 'm',
        dimensions: 2,
        status: 'active',
        isDefault: true,
      },
    ],
    mark(startMs),
  )
  const there = new Map<string, ModelDocument>()
  const refused = new Set<string>()
  const goneTexts = new Set<string>()
  const erasedIds: string[] = []
  const jobs: string[] = []
  /** The content of an index and its position. */
  const index = new Set<string>()
  let position = 0
  let read: Awaited<ReturnType<typeof indexSource.documentsAfter>> = []
  let now = startMs
  let number = 0

  const takeAway = (keys: readonly string[], keep: boolean): void => {
    for (const key of keys) {
      const { documentId, texts } = there.get(key)!
      there.delete(key)
      erasedIds.push(documentId)
      for (const text of texts) goneTexts.add(text)
      if (keep) refused.add(key)
    }
  }
  const erase = async (selection: Selection, keep: boolean, deletesDataset = false): Promise<number> => {
    const erasureId = newId('ers', now)
    jobs.push(erasureId)
    const request = {
      erasureId,
      selection,
      keepTombstones: keep,
      purgeArtifacts: false,
      mustExist: false,
      deletesDataset,
    }
    const { isHidden } = await erasures.begin(request, mark(now))
    if (!isHidden) while (await erasures.hide(erasureId, 2, now));
    return (await erasures.erasure(erasureId))!.documents
  }
  /** Stores what was read before, however old it is, and reads on. */
  const feed = async (): Promise<void> => {
    for (const document of read) {
      const { changes: told, chunks } = await prepareDocument(document, async () => {})
      await indexSource.putChunks(chunks)
      await indexSource.putVectors(
        profileId,
        chunks.map(({ chunkId }) => ({ chunkId, vector: Float32Array.of(1, 0) })),
      )
      for (const { kind, documentId } of told) {
        if (kind === 'retire_document') index.delete(documentId)
        else index.add(documentId)
      }
      position = document.revision
    }
    read = await indexSource.documentsAfter(position, { documents: 3, characters: 1_000_000 })
  }

  for (const one of steps) {
    now += 1000
    if ('send' in one) {
      const key = keyOf(one.send)
      // A unique text: wherever it is found, no other document can have brought it.
      const text = `text${number++}of${key.replaceAll(' ', '')}${'x'.repeat(20)}`
      const sent: IncomingDocument = {
        ...plain(one.send),
        title: text,
        body: one.text === 0 ? 'the same text for all' : text,
        author: { external_author_id: `a${one.author}`, nickname: text },
        tags: [text],
        metrics: { likes: number },
        publishedAt: now - 5000,
        observedAt: now - 3000,
        facts: [{ kind: 'note', level: 'document', metadata: { text } }],
      }
      const [result] = await content.ingest([sent], now)
      assert.ok(result !== undefined && 'outcome' in result)
      if (refused.has(key) && !there.has(key)) assert.deepEqual(result, { outcome: 'erased' })
      else {
        assert.ok('documentId' in result)
        const known = there.get(key)
        assert.equal(result.outcome, known === undefined ? 'created' : 'version_created')
        const document = known ?? { documentId: result.documentId, author: one.author, texts: [] }
        assert.ok(!erasedIds.includes(result.documentId))
        document.author = one.author
        document.texts.push(text)
        there.set(key, document)
      }
    } else if ('erase' in one) {
      const keys = [...new Set(one.erase.map(keyOf))].filter((key) => there.has(key))
      const documentIds = [...keys.map((key) => there.get(key)!.documentId), newId('doc', now)]
      assert.equal(await erase({ documentIds }, one.keep), keys.length)
      takeAway(keys, one.keep)
    } else if ('eraseAuthor' in one) {
      const place = `d${one.dataset} p${one.platform} `
      const keys = [...there].filter(([key, { author }]) => key.startsWith(place) && author === one.eraseAuthor)
      const author = {
        datasetId: `d${one.dataset}`,
        platform: `p${one.platform}`,
        externalAuthorId: `a${one.eraseAuthor}`,
        below: firstIdAt('doc', now + 1),
      }
      assert.equal(await erase({ author }, true), keys.length)
      takeAway(
        keys.map(([key]) => key),
        true,
      )
    } else if ('eraseDataset' in one) {
      const datasetId = `d${one.eraseDataset}`
      const keys = [...there.keys()].filter((key) => key.startsWith(`${datasetId} `))
      const dataset = { datasetId, below: firstIdAt('doc', now + 1) }
      assert.equal(await erase({ dataset }, true, one.deletes), keys.length)
      takeAway(keys, true)
      const known = (await operator.datasets()).some((other) => other.datasetId === datasetId)
      assert.equal(known, !one.deletes)
      // The dataset may be created again under the same id.
      if (one.deletes)
        await operator.commit([{ kind: 'dataset.put', datasetId, name: 'again', description: null }], mark(now))
    } else if ('lift' in one) {
      const key = keyOf(one.lift)
      assert.equal(await erasures.lift(plain(one.lift), mark(now)), refused.has(key))
      refused.delete(key)
    } else if ('index' in one) await feed()
    else {
      for (const job of jobs) {
        const before = (await erasures.erasure(job))!
        const isMore = await erasures.remove(job, one.remove)
        const { removed, documents } = (await erasures.erasure(job))!
        assert.equal(removed, Math.min(documents, before.removed + one.remove))
        if (removed < documents) assert.equal(isMore, true)
      }
    }

    const ids = [...there.values()].map(({ documentId }) => documentId).concat(erasedIds)
    const known = ids.length === 0 ? [] : await catalog.documents(ids, { snapshot: true })
    assert.deepEqual(
      known.map(({ documentId, title }) => [documentId, title]).sort(),
      [...there.values()].map(({ documentId, texts }) => [documentId, texts.at(-1)]).sort(),
    )
  }

  // Runs all jobs to their end.
  for (const job of jobs) while (await erasures.remove(job, 2));
  for (const job of jobs) {
    for (let after: number | null = 0; after !== null; ) after = await erasures.forgetEvents(job, after, 3)
  }
  do await feed()
  while (read.length > 0)
  assert.deepEqual([...index].sort(), [...there.values()].map(({ documentId }) => documentId).sort())
  assert.equal(position, await indexSource.newestRevision())
  assert.deepEqual(await indexSource.backlog(position).then(({ documents }) => documents), 0)
  const last = await indexSource.newestErasure()
  for (const job of jobs) {
    const { documents, status } = (await erasures.erasure(job))!
    assert.equal(status, 'running')
    assert.equal(await erasures.isPurged(job, now), documents === 0)
  }
  await indexSource.reportPurged('one', last, now)
  await indexSource.reportPurged('other', last - 1, now)
  // An index copy that no longer reports is not waited for.
  if (jobs.length > 0 && last > 0) {
    const waiting = await Promise.all(jobs.map((job) => erasures.isPurged(job, now)))
    assert.ok(waiting.includes(false))
    // A removed index copy is not waited for either.
    await indexSource.reportRemoved('other')
    for (const job of jobs) assert.equal(await erasures.isPurged(job, now), true)
  }
  for (const job of jobs) {
    assert.equal(await erasures.isPurged(job, now + 24 * 3600_000), true)
    await erasures.complete(job, now)
    assert.equal((await erasures.erasure(job))!.status, 'completed')
  }
  assert.deepEqual(await erasures.unfinished(), [])

  const left = await store.dump()
  for (const text of goneTexts) assert.ok(!left.includes(text), text)
  for (const { texts } of there.values()) for (const text of texts) assert.ok(left.includes(text), text)
  const everything = { after: null, limit: 100_000, scanMax: 1_000_000, ingestedFrom: null, ingestedTo: null }
  const page = await changes.read({ ...everything, scope: openScope('d0', 'd1'), eventTypes })
  const told = eventsOf(page).filter(({ eventType }) => eventType === 'document.erased')
  // Past events of an erased document keep only ids and their own time, which the id contains too.
  for (const event of eventsOf(page)) {
    const isGone = erasedIds.includes(event.documentId)
    const { changedFields, occurredAt, observedAt, ingestedAt } = event
    assert.equal(changedFields.length === 0, isGone, event.eventType)
    assert.deepEqual([occurredAt === ingestedAt, observedAt === ingestedAt], [isGone, isGone], event.eventType)
    assert.equal(idTimeMs(event.eventId), ingestedAt)
  }
  assert.deepEqual(
    told.map(({ documentId }) => documentId),
    [...erasedIds].sort(
      (a, b) => told.findIndex((e) => e.documentId === a) - told.findIndex((e) => e.documentId === b),
    ),
  )
  assert.equal(told.length, erasedIds.length)
}

/** The contract of every ErasureStore. `cases` is the number of random histories. */
export function checkErasureStore(name: string, open: () => Promise<ErasureFixture>, cases: number): void {
  suite(`erasures: ${name}`, () => {
    test('whatever is sent in, erased and let in again: what is gone is gone, what is not is there', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
          const store = await open()
          try {
            await walk(store, steps)
          } finally {
            await store.close()
          }
        }),
        { numRuns: cases },
      )
    })

    test('export, then feed, is everything, whatever comes into a dataset while it is erased', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(followedStep, { minLength: 1, maxLength: 40 }), async (steps) => {
          const store = await open()
          try {
            await followed(store, steps)
          } finally {
            await store.close()
          }
        }),
        { numRuns: 2 * cases },
      )
    })

    const using = async (work: (store: ErasureFixture) => Promise<void>): Promise<void> => {
      const store = await open()
      try {
        await store.operator.commit(
          [{ kind: 'dataset.put', datasetId: 'd', name: 'd', description: null, retainDays: 30 }],
          mark(startMs),
        )
        await work(store)
      } finally {
        await store.close()
      }
    }
    const day = 24 * 3600_000
    const sent = (externalId: string): IncomingDocument => ({
      datasetId: 'd',
      platform: 'p',
      externalId,
      body: externalId,
    })
    const request = { keepTombstones: true, purgeArtifacts: false, mustExist: false }
    const documentsIn = async ({ content }: ErasureFixture, ...documents: IncomingDocument[]) =>
      (await content.ingest(documents, startMs + 60 * day)).map((one) =>
        'outcome' in one ? one.outcome : one.refusal.code,
      )

    test('what a dataset has kept for as long as it should is overdue, once', () =>
      using(async (store) => {
        const { content, erasures, operator } = store
        await content.ingest([sent('old')], startMs)
        await content.ingest([sent('young')], startMs + 5 * day)
        assert.deepEqual(await erasures.overdue(startMs + 30 * day), [])
        const [part] = await erasures.overdue(startMs + 30 * day + 1)
        assert.equal(part!.datasetId, 'd')
        await erasures.begin(
          { erasureId: 'ers_1', selection: { expired: part! }, ...request },
          mark(startMs + 31 * day),
        )
        assert.deepEqual(await erasures.overdue(startMs + 31 * day), [], 'it is being erased')
        assert.equal(await erasures.hide('ers_1', 100, startMs + 31 * day), false)
        assert.deepEqual(await erasures.overdue(startMs + 31 * day), [])
        assert.equal((await erasures.erasure('ers_1'))!.documents, 1)
        assert.deepEqual(await documentsIn(store, sent('old'), sent('young')), ['erased', 'unchanged'])
        // Without the field, a dataset keeps its value. Null means forever.
        const put = { kind: 'dataset.put', datasetId: 'd', name: 'other', description: null } as const
        await operator.commit([put], mark(startMs))
        assert.equal((await erasures.overdue(startMs + 40 * day)).length, 1)
        await operator.commit([{ ...put, retainDays: null }], mark(startMs))
        assert.deepEqual(await erasures.overdue(startMs + 40 * day), [])
      }))

    test('the tombstones of one erasure are lifted in portions, and those of no other', () =>
      using(async (store) => {
        const { content, erasures } = store
        const [a, b, c, other] = ['a', 'b', 'c', 'other'].map(sent)
        const results = await content.ingest([a!, b!, c!, other!], startMs)
        const ids = results.map((one) => ('documentId' in one ? one.documentId : ''))
        const mine = { documentIds: ids.slice(0, 3) }
        assert.equal(await erasures.count({ documentIds: [...ids, 'doc_unknown'] }), 4)
        for (const [erasureId, selection] of [
          ['ers_1', mine],
          ['ers_2', { documentIds: ids.slice(3) }],
        ] as const) {
          await erasures.begin({ erasureId, selection, ...request }, mark(startMs))
          while (await erasures.remove(erasureId, 2));
        }
        assert.equal(await erasures.count(mine), 0)
        assert.equal(await erasures.lift({ datasetId: 'd', platform: 'p', externalId: 'b' }, mark(startMs)), true)
        assert.equal(await erasures.tombstones('ers_1'), 2)
        let portions = 0
        let after: string | null = null
        do after = await erasures.liftAll('ers_1', after, 1, mark(startMs))
        while (portions++ < 10 && after !== null)
        assert.equal(portions, 4)
        assert.deepEqual([await erasures.tombstones('ers_1'), await erasures.tombstones('ers_2')], [0, 1])
        assert.deepEqual(await documentsIn(store, a!, b!, c!, other!), ['created', 'created', 'created', 'erased'])
      }))

    test('a job is told in portions; a store that lacks it repeats it, refuses what never came back, and does so once', () =>
      using(async (store) => {
        const { catalog, changes, content, erasures, operator } = store
        const results = await content.ingest(['a', 'b', 'c', 'd'].map(sent), startMs)
        const ids = results.map((one) => ('documentId' in one ? one.documentId : ''))
        // Another erasure of the same instance has made the secret. Part of this job's documents are removed.
        await erasures.begin(
          { erasureId: 'ers_1', selection: { documentIds: ids.slice(0, 3) }, ...request },
          mark(startMs),
        )
        await erasures.remove('ers_1', 2)
        assert.deepEqual(await erasures.hiddenAmong(['ers_1', 'ers_2']), ['ers_1'])
        const first = await erasures.removal('ers_1', null, 2)
        const second = await erasures.removal('ers_1', first.documents.at(-1)!.documentId, 2)
        const told = [...first.documents, ...second.documents]
        assert.deepEqual(
          told.map(({ documentId }) => documentId),
          ids.slice(0, 3).sort(),
        )
        assert.ok(told.every(({ tombstone }) => /^[0-9a-f]{64}$/.test(tombstone!)))
        assert.deepEqual([first.actor, first.createdAt, first.keepTombstones], ['test', startMs, true])

        const never = newId('doc')
        const tombstone = createHmac('sha256', first.tombstoneSecret!).update('["d","p","never"]').digest('hex')
        const lost = {
          ...{ ...first, erasureId: 'ers_2', actor: 'Ada', createdAt: startMs + 5 },
          documents: [
            { documentId: ids[3]!, tombstone: told[0]!.tombstone },
            { documentId: never, tombstone },
          ],
        }
        const { documents: _, ...job } = lost
        for (const again of [1, 1]) {
          await erasures.eraseAgain(lost, startMs + 10)
          assert.equal(await erasures.takeOver(job, { actor: 'record', at: startMs + 10 }), again)
        }
        assert.deepEqual(await catalog.documents([ids[3]!], { snapshot: false }), [])
        assert.deepEqual(await erasures.hiddenAmong(['ers_1', 'ers_2']), ['ers_1', 'ers_2'])
        const { status, documents, removed, createdAt } = (await erasures.erasure('ers_2'))!
        assert.deepEqual([status, documents, removed, createdAt], ['running', 2, 1, startMs + 5])
        await erasures.remove('ers_2', 10)
        assert.equal((await erasures.erasure('ers_2'))!.removed, 2)
        assert.deepEqual(await documentsIn(store, sent('d'), sent('never')), ['erased', 'erased'])
        const page = await changes.read({
          ...{ after: 0, limit: 100, scanMax: 1000, ingestedFrom: null, ingestedTo: null },
          ...{ scope: openScope('d'), eventTypes },
        })
        const ofD = eventsOf(page).filter(({ documentId }) => documentId === ids[3])
        assert.deepEqual(
          ofD.map(({ eventType }) => eventType),
          ['document.created', 'document.erased'],
        )
        const lines = (await operator.audit({ before: null, limit: 100 })).filter(({ target }) => target === 'ers_2')
        const detail = { erasedBy: 'Ada', erasedAt: '2026-01-01T00:00:00.005Z', documents: 2, erasedAgain: 1 }
        assert.deepEqual(
          lines.map((line) => [line.action, line.actor, line.detail]),
          [['erasure.replay', 'record', detail]],
        )
        // A tombstone made with a secret that this store does not have would never match.
        await erasures.eraseAgain(
          { ...lost, tombstoneSecret: 'other', documents: [{ documentId: newId('doc'), tombstone: 'x' }] },
          startMs,
        )
        assert.equal(await erasures.tombstones('ers_2'), 2)
      }))

    for (const keepTombstones of [true, false]) {
      const name = keepTombstones ? 'is refused' : 'is a new document, which stays'
      test(`what is sent in again before its turn has come in the erasure of its dataset ${name}`, () =>
        using(async (store) => {
          const { catalog, content, erasures } = store
          const before = await content.ingest([sent('one'), sent('two'), sent('three')], startMs)
          const ids = before.map((one) => ('documentId' in one ? one.documentId : ''))
          const dataset = { datasetId: 'd', below: firstIdAt('doc', startMs + 1) }
          const asked = { erasureId: 'ers_1', selection: { dataset }, ...request, keepTombstones }
          await erasures.begin(asked, mark(startMs))
          assert.equal(await erasures.hide('ers_1', 1, startMs + 2), true)
          const again = await content.ingest([sent('two'), sent('three'), sent('three'), sent('new')], startMs + 10)
          const outcomes = again.map((one) => 'outcome' in one && one.outcome)
          const expected = keepTombstones
            ? ['erased', 'erased', 'erased', 'created']
            : ['created', 'created', 'unchanged', 'created']
          assert.deepEqual(outcomes, expected)
          while (await erasures.hide('ers_1', 1, startMs + 20));
          assert.equal((await erasures.erasure('ers_1'))!.documents, 3)
          const kept = again.flatMap((one) => ('documentId' in one ? one.documentId : []))
          const there = await catalog.documents([...ids, ...kept], { snapshot: false })
          assert.deepEqual(there.map(({ documentId }) => documentId).sort(), [...new Set(kept)].sort())
        }))
    }

    test('what an author publishes after the erasure began stays, however long that takes', () =>
      using(async (store) => {
        const { content, erasures } = store
        const author = { external_author_id: 'a', nickname: 'a' }
        const by = (id: string) => ({ ...sent(id), author })
        await content.ingest([by('one'), by('two'), by('three')], startMs)
        const of = { datasetId: 'd', platform: 'p', externalAuthorId: 'a', below: firstIdAt('doc', startMs + 1) }
        assert.equal(await erasures.count({ author: of }), 3)
        await erasures.begin({ erasureId: 'ers_1', selection: { author: of }, ...request }, mark(startMs))
        assert.equal(await erasures.hide('ers_1', 1, startMs + 2), true)
        await content.ingest([by('new'), by('newer')], startMs + 10)
        while (await erasures.hide('ers_1', 1, startMs + 20));
        assert.equal((await erasures.erasure('ers_1'))!.documents, 3)
        const again = await content.ingest([by('one'), by('new'), by('newer')], startMs + 30)
        const outcomes = again.map((one) => 'outcome' in one && one.outcome)
        assert.deepEqual(outcomes, ['erased', 'unchanged', 'unchanged'])
      }))

    test('what is there is erased by a clock that is behind too, and what comes in meanwhile stays and is told', () =>
      using(async (store) => {
        const { changes, content, erasures } = store
        const by = (id: string) => ({ ...sent(id), author: { external_author_id: 'a', nickname: 'a' } })
        const ahead = startMs + 10 * day
        await content.ingest([by('one'), by('two')], ahead)
        const below = firstIdAt('doc', startMs + 1)
        const author = { datasetId: 'd', platform: 'p', externalAuthorId: 'a', below }
        assert.equal(await erasures.count({ author }), 2)
        await erasures.begin({ erasureId: 'ers_1', selection: { author }, ...request }, mark(startMs))
        while (await erasures.hide('ers_1', 1, startMs));
        assert.equal((await erasures.erasure('ers_1'))!.documents, 2)
        assert.equal(await erasures.count({ author }), 0)

        await content.ingest([sent('three'), sent('four')], ahead)
        const dataset = { datasetId: 'd', below }
        assert.equal(await erasures.count({ dataset }), 2)
        await erasures.begin({ erasureId: 'ers_2', selection: { dataset }, ...request }, mark(startMs))
        assert.equal(await erasures.hide('ers_2', 1, startMs), true)
        const [came] = await content.ingest([sent('later')], startMs + 10)
        while (await erasures.hide('ers_2', 1, startMs + 20));
        assert.equal((await erasures.erasure('ers_2'))!.documents, 2)
        assert.equal(await erasures.count({ dataset }), 1)
        while ((await erasures.announceArrivals('ers_2', 1, startMs + 10_000)) === 'more');
        const created = eventsOf(
          await changes.read({
            ...{ after: 0, limit: 100, scanMax: 1000, ingestedFrom: null, ingestedTo: null },
            ...{ scope: openScope('d'), eventTypes: ['document.created'] },
          }),
        )
        const ofLater = created.filter((event) => 'documentId' in came! && event.documentId === came.documentId)
        assert.equal(ofLater.length, 2)
      }))

    test('an erasure does not wait for an index that is known by a time that has not come yet', () =>
      using(async ({ content, erasures, indexSource }) => {
        const [document] = await content.ingest([sent('one')], startMs)
        assert.ok('documentId' in document!)
        const later = startMs + 10 * day
        await indexSource.reportPurged('of the time before', 0, later)
        const selection = { documentIds: [document.documentId] }
        await erasures.begin({ erasureId: 'ers_1', selection, ...request }, mark(startMs))
        await indexSource.reportPurged('of now', await indexSource.newestErasure(), startMs)
        assert.equal(await erasures.isPurged('ers_1', startMs), false, 'it may still run')
        assert.equal(await erasures.isPurged('ers_1', startMs + 120_000), true)

        await content.ingest([sent('two')], later)
        const dataset = { datasetId: 'd', below: firstIdAt('doc', later + 1) }
        await erasures.begin({ erasureId: 'ers_2', selection: { dataset }, ...request }, mark(later))
        while (await erasures.hide('ers_2', 10, later));
        assert.equal(await erasures.announceArrivals('ers_2', 1, later), 'later')
        assert.equal(await erasures.announceArrivals('ers_2', 1, startMs), 'done', 'the clock went back')
      }))

    test('a dataset that is being erased is hidden, and what comes in meanwhile stays; one that is deleted takes nothing', () =>
      using(async (store) => {
        const { access, analysis, changes, content, erasures, operator } = store
        const application = { kind: 'application.create', applicationId: 'app', name: 'a', policy: {} } as const
        const owner = { kind: 'consumer', id: 'app' }
        const key = { keyId: 'key', owner, rights: null, name: null, prefix: 'tmc_', hash: 'h', expiresAt: null }
        await operator.commit([application, { kind: 'key.create', ...key }], mark(startMs))
        const hidden = async () => {
          const found = (await access.findKey('h'))!.owner
          return found.kind === 'consumer' ? found.hiddenDatasets : null
        }
        await content.ingest([sent('one'), sent('two')], startMs)
        const input = {
          datasetId: 'd',
          inputScope: { dataset_ids: ['d'] },
          scopes: [],
          profileId: null,
          cutoffAt: startMs * 2,
        }
        const read = { ...input, afterDocument: null, documents: 10, rowsMax: 10 }
        assert.equal((await analysis.inputRows(read)).rows.length, 2)
        const dataset = { datasetId: 'd', below: firstIdAt('doc', startMs + 1) }
        await erasures.begin({ erasureId: 'ers_1', selection: { dataset }, ...request }, mark(startMs))
        assert.deepEqual(await hidden(), ['d'])
        assert.deepEqual((await analysis.inputRows(read)).rows, [])
        const again = erasures.begin({ erasureId: 'ers_2', selection: { dataset }, ...request }, mark(startMs))
        await assert.rejects(again, { code: 'conflict' })
        const whole: Partial<IncomingDocument> = {
          status: 'unavailable',
          quality: 0.5,
          tags: ['t'],
          facts: [{ kind: 'category', level: 'document', metadata: { label_code: 'c' } }],
          extraPayload: { raw: true },
        }
        await content.ingest([{ ...sent('later'), ...whole }], startMs + 10)
        assert.equal(await erasures.hide('ers_1', 1, startMs + 10), true)
        while (await erasures.hide('ers_1', 1, startMs + 10));
        assert.deepEqual(await hidden(), [])
        assert.equal((await analysis.inputRows(read)).rows.length, 1)
        while ((await erasures.announceArrivals('ers_1', 1, startMs + 10_000)) === 'more');
        const [came, told, ...others] = eventsOf(
          await changes.read({
            ...{ after: 0, limit: 100, scanMax: 1000, ingestedFrom: startMs + 10, ingestedTo: null },
            ...{ scope: openScope('d'), eventTypes: ['document.created'] },
          }),
        )
        assert.deepEqual(others, [])
        assert.deepEqual([...told!.changedFields].sort(), [...came!.changedFields].sort(), 'told as when it came')

        const all = { dataset: { datasetId: 'd', below: firstIdAt('doc', startMs * 2) } }
        const deletion = { ...request, keepTombstones: false, deletesDataset: true }
        await erasures.begin({ erasureId: 'ers_3', selection: all, ...deletion }, mark(startMs + 20))
        assert.deepEqual(await content.knownDatasets(), [])
        assert.deepEqual(await operator.datasets(), [])
        const put = { kind: 'dataset.put', datasetId: 'd', name: 'd', description: null } as const
        await assert.rejects(operator.commit([put], mark(startMs)), { code: 'conflict' })
        assert.deepEqual(await documentsIn(store, sent('no')), ['unknown_dataset'])
        while (await erasures.hide('ers_3', 1, startMs + 20));
        await operator.commit([put], mark(startMs + 30))
        assert.deepEqual(await documentsIn(store, sent('later')), ['created'])
      }))

    test('runs whose input may have had the document are named, and ended where that is asked for', () =>
      using(async (store) => {
        const { analysis, content, erasures } = store
        const [first] = await content.ingest([sent('one')], startMs)
        const entry = {
          platforms: null,
          languages: null,
          regions: null,
          publishedFrom: null,
          publishedTo: null,
          fields: [],
        }
        const run = (runId: string, datasets: string[], inputCutoffAt: number) => ({
          runId,
          applicationId: 'app',
          analysisType: 'knn_graph' as const,
          embeddingProfileId: null,
          inputScope: { dataset_ids: datasets },
          parameters: null,
          inputCutoffAt,
          retentionDays: 30,
          scope: { entries: [{ ...entry, datasets }] },
          createdAt: startMs,
          expiresAt: startMs + 30 * day,
        })
        await analysis.addRun(run('run_1', ['d'], startMs + 10), null)
        await analysis.addRun(run('run_2', ['other'], startMs + 10), null)
        await analysis.addRun(run('run_3', ['d'], startMs - 10), null)
        for (let i = 0; i < 3; i++) await analysis.takeRun({ workerId: 'w', now: startMs + i, until: startMs + day })
        await analysis.addRun(run('run_4', ['d'], startMs + 10), null)
        const { documentId } = first as { documentId: string }
        const asked = { erasureId: 'ers_1', selection: { documentIds: [documentId] }, ...request, purgeArtifacts: true }
        const { artifactRunIds } = await erasures.begin(asked, mark(startMs + 20))
        assert.deepEqual(artifactRunIds, ['run_1'])
        assert.equal((await analysis.expireRuns(startMs + 20, 10)).expired, 1)
      }))
  })
}
