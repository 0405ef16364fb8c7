import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { fieldPermissions, type Scope } from '../../src/access/scope.ts'
import type { CatalogStore, DocumentRecord } from '../../src/catalog/catalog-store.ts'
import { type ChangeLog, type ChangePage, type EventType, eventTypes } from '../../src/changes/change-log.ts'
import type { ExportSource } from '../../src/export/export-source.ts'
import type { ContentStore, IncomingDocument, IngestResult } from '../../src/ingest/content-store.ts'
import type { OperatorStore } from '../../src/operator/operator-store.ts'
import { emptyValues, sampledFields } from '../support/document-fields.ts'
import { anyScope, ContentModel, codesOf, identityOf, incoming } from './content-store-model.ts'
import { checkExport } from './export-source.ts'

/** A fresh, empty store with the ports that read what was written. */
export interface ContentFixture {
  readonly content: ContentStore
  readonly changes: ChangeLog
  readonly catalog: CatalogStore
  readonly operator: OperatorStore
  readonly exportSource: ExportSource
  close(): Promise<void>
}

const startMs = Date.UTC(2026, 0)
const everything = { limit: 100_000, scanMax: 1_000_000, eventTypes, ingestedFrom: null, ingestedTo: null }

const anything = { platforms: null, languages: null, regions: null, publishedFrom: null, publishedTo: null }

export const openScope = (...datasets: readonly string[]): Scope => ({
  entries: [{ ...anything, datasets, fields: fieldPermissions }],
})
const open = openScope('d1', 'd2')

export const allEvents = async (changes: ChangeLog): Promise<readonly ReadEvent[]> =>
  eventsOf(await changes.read({ ...everything, after: null, scope: open }))

export type ReadEvent = ReturnType<typeof eventsOf>[number]

/** The events of a page, with their times as numbers. */
export const eventsOf = ({ events }: ChangePage) =>
  events.map((event) => ({
    sequence: event.sequence,
    eventId: event.event_id,
    eventType: event.event_type,
    datasetId: event.dataset_id,
    platform: event.source_platform,
    documentId: event.document_id,
    versionId: event.version_id ?? null,
    changedFields: event.changed_fields,
    occurredAt: Date.parse(event.occurred_at),
    observedAt: Date.parse(event.observed_at),
    ingestedAt: Date.parse(event.ingested_at),
  }))

export async function makeDatasets(operator: OperatorStore): Promise<void> {
  for (const datasetId of ['d1', 'd2']) {
    await operator.commit([{ kind: 'dataset.put', datasetId, name: datasetId, description: null }], {
      actor: 'test',
      at: startMs,
    })
  }
}

export const plain = (externalId: string, fields: Partial<IncomingDocument> = {}): IncomingDocument => ({
  datasetId: 'd1',
  platform: 'p1',
  externalId,
  body: `Body of ${externalId}`,
  ...fields,
})

/** A reader that pages through the feed. */
interface Reader {
  readonly scope: Scope
  readonly types: readonly EventType[]
  readonly limit: number
  readonly scanMax: number
}
const reader = fc.record<Reader>({
  scope: anyScope,
  types: fc.oneof(fc.constant(eventTypes), fc.subarray([...eventTypes], { minLength: 1 })),
  limit: fc.constantFrom(1, 3, 100),
  scanMax: fc.constantFrom(2, 1000),
})

async function eventsFor(changes: ChangeLog, { scope, types, limit, scanMax }: Reader): Promise<ReadEvent[]> {
  const events: ReadEvent[] = []
  const query = { scope, eventTypes: types, limit, scanMax, ingestedFrom: null, ingestedTo: null }
  for (let after: number | null = null; ; ) {
    const page: ChangePage = await changes.read({ ...query, after })
    events.push(...eventsOf(page))
    after = page.position
    if (page.atEnd) return events
  }
}

/** The contract of every ContentStore. `cases` is the number of random histories. */
export function checkContentStore(name: string, openStore: () => Promise<ContentFixture>, cases: number): void {
  const using = async (work: (store: ContentFixture) => Promise<void>): Promise<void> => {
    const store = await openStore()
    try {
      await makeDatasets(store.operator)
      await work(store)
    } finally {
      await store.close()
    }
  }
  const stored = (result: IngestResult) => {
    assert.ok('documentId' in result, JSON.stringify(result))
    return result
  }

  suite(`content store: ${name}`, () => {
    test('random histories come to what the model says', async () => {
      const met: Record<string, number> = {}
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.array(incoming, { minLength: 1, maxLength: 8 }), fc.integer({ min: -2, max: 5 })), {
            maxLength: 8,
          }),
          fc.array(reader, { maxLength: 5 }),
          (batches, readers) => using((store) => checkHistory(store, batches, readers, met)),
        ),
        // Shrinking opens a store for each try, which is fast in memory and takes minutes on disk.
        { numRuns: cases, endOnFailure: cases < 100 },
      )
      for (const outcome of [
        'created',
        'version_created',
        'metrics_updated',
        'updated',
        'unchanged',
        'left',
        'hidden',
      ]) {
        assert.ok(cases < 100 || (met[outcome] ?? 0) > 0, `${outcome} was never met`)
      }
    })

    test('batches of many documents of all kinds come to what the model says', () =>
      fc.assert(
        fc.asyncProperty(fc.array(incoming, { minLength: 60, maxLength: 80 }), (batch) => {
          const many = batch.map((one, i) => ({ ...one, externalId: `${one.externalId}-${i % 40}` }))
          return using((store) => checkHistory(store, [[many, 0]], [], {}))
        }),
        { numRuns: Math.ceil(cases / 20), endOnFailure: true },
      ))

    test('the same documents again write nothing', () =>
      using(async ({ content, changes }) => {
        const batch = Array.from({ length: 300 }, (_, i) => plain(String(i), { score: i, tags: ['a', 'b'] }))
        const first = await content.ingest(batch, startMs)
        const events = await allEvents(changes)
        const again = await content.ingest(batch, startMs + 1000)
        assert.deepEqual(
          again,
          first.map((one) => ({ ...stored(one), outcome: 'unchanged' })),
        )
        assert.deepEqual(await allEvents(changes), events)
        assert.equal(events.length, 300)
      }))

    test('batches of any size, in order', () =>
      using(async ({ content, changes }) => {
        let sent = 0
        for (const size of [0, 1, 2, 3, 5, 16, 17, 63, 64, 65, 127, 128, 129, 500, 1000]) {
          const batch = Array.from({ length: size }, () => plain(`n${sent++}`, { metrics: { n: sent } }))
          assert.equal((await content.ingest(batch, startMs)).length, size)
        }
        const events = await allEvents(changes)
        assert.equal(events.length, sent)
        const ids = events.map((event) => event.documentId)
        assert.deepEqual([...ids].sort(), ids)
      }))

    test('a dataset that is not known is refused alone', () =>
      using(async ({ content, changes }) => {
        assert.deepEqual([...(await content.knownDatasets())].sort(), ['d1', 'd2'])
        const [one, two, three] = await content.ingest(
          [plain('1'), plain('2', { datasetId: 'nowhere' }), plain('3')],
          startMs,
        )
        assert.equal(stored(one!).outcome, 'created')
        assert.ok('refusal' in two! && two.refusal.code === 'unknown_dataset')
        assert.equal(stored(three!).outcome, 'created')
        assert.equal((await allEvents(changes)).length, 2)
      }))

    test('identities that only look alike are different documents', () =>
      using(async ({ content }) => {
        const alike = ['a', 'A', 'a ', ' a', 'á', 'a\u0301', 'а', 'a%', 'a_', '100', '1e2', "a'b", 'a"b', 'a\\b']
        const results = await content.ingest(
          alike.map((id) => plain(id)),
          startMs,
        )
        assert.equal(new Set(results.map((one) => stored(one).documentId)).size, alike.length)
      }))

    test('large and odd texts come back as they went in', () =>
      using(async ({ content, catalog }) => {
        const body = `${'𝕏 ünï — "quotes" \\ \u2028 \u0001 '.repeat(40_000)}\n`
        const author = { nickname: 'n', extra: { __proto__x: 'y', n: 1.5, yes: true } }
        const metrics = JSON.parse('{"__proto__": 1, "z": 1e300, "a": -0.1}')
        const [result] = await content.ingest([plain('odd', { body, title: "Robert'); --", author, metrics })], startMs)
        const [record] = await catalog.documents([stored(result!).documentId], { snapshot: true })
        assert.deepEqual(await catalog.bodies([record!.currentVersionId]), [
          { versionId: record!.currentVersionId, body },
        ])
        assert.equal(record!.title, "Robert'); --")
        assert.deepEqual(record!.author, author)
        assert.equal(JSON.stringify(record!.snapshot!.metrics), '{"__proto__":1,"a":-0.1,"z":1e+300}')
      }))

    test('versions and snapshots stay in order when the clock does not', () =>
      using(async ({ content, catalog }) => {
        const times = [50, 50, 10, 10, 49, 51, 0]
        const sent: string[] = []
        for (const [i, time] of times.entries()) {
          const [result] = await content.ingest([plain('clock', { title: `T${i}`, score: i })], startMs + time)
          sent.push(stored(result!).versionId)
        }
        const { documentId } = stored((await content.ingest([plain('clock')], startMs))[0]!)
        const page = { before: null, limit: 100 }
        const versions = await catalog.versions(documentId, open, page)
        assert.deepEqual(
          versions.map((one) => one.versionId),
          sent.toReversed(),
        )
        assert.deepEqual(
          (await catalog.snapshots(documentId, page)).map((one) => one.score),
          [6, 5, 4, 3, 2, 1, 0],
        )
      }))
  })
}

/** Sends the batches to the store and to the model, then compares everything that can be read. */
async function checkHistory(
  store: ContentFixture,
  batches: readonly (readonly [readonly IncomingDocument[], number])[],
  readers: readonly Reader[],
  met: Record<string, number>,
): Promise<void> {
  const { content, changes, catalog } = store
  const model = new ContentModel()
  const ids = new Map<string, string>()
  let nowMs = startMs
  for (const [batch, passedMs] of batches) {
    nowMs += passedMs
    const results = await content.ingest(batch, nowMs)
    batch.forEach((one, i) => {
      const result = results[i]!
      assert.ok('documentId' in result)
      const outcome = model.take(one, nowMs)
      met[outcome] = (met[outcome] ?? 0) + 1
      assert.equal(result.outcome, outcome)
      const identity = identityOf(one)
      assert.equal(ids.get(identity) ?? result.documentId, result.documentId)
      ids.set(identity, result.documentId)
    })
  }
  const versionIds = new Map<string, readonly string[]>()
  for (const [identity, expected] of model.documents) {
    const documentId = ids.get(identity)!
    const [record] = await catalog.documents([documentId], { snapshot: true })
    const said = (field: string) => expected.said.get(field) ?? null
    const empty = emptyValues('property')
    for (const { property } of sampledFields) {
      assert.deepEqual(record![property as keyof DocumentRecord], said(property) ?? empty[property], property)
    }
    assert.equal(record!.title, said('title'))
    assert.deepEqual(record!.classifications, codesOf(expected.facts))
    assert.equal(record!.score, said('score'))
    assert.equal(record!.observedAt, said('observedAt'))
    assert.equal(record!.seenAt, expected.seenAt)
    assert.equal(record!.createdAt, expected.firstAt)
    assert.equal(record!.versionCount, expected.versions.length)
    const page = { before: null, limit: 1000 }
    const versions = (await catalog.versions(documentId, open, page)).toReversed()
    versionIds.set(
      identity,
      versions.map((one) => one.versionId),
    )
    assert.equal(versions.at(-1)!.versionId, record!.currentVersionId)
    const texts = []
    for (const { versionId } of versions) {
      const { title, body, language, publishedAt } = (await catalog.version(documentId, versionId, open))!
      texts.push({ title, body, language, publishedAt })
    }
    assert.deepEqual(texts, expected.versions)
    const snapshots = (await catalog.snapshots(documentId, page)).toReversed()
    assert.deepEqual(
      snapshots.map(({ score, metrics, observedAt }) => ({ score, metrics, observedAt })),
      expected.snapshots,
    )
    assert.equal(record!.snapshot?.snapshotId, snapshots.at(-1)?.snapshotId)
  }
  await checkExport(store, [...ids.values()])
  const everyType = { scope: open, types: eventTypes, limit: 100_000, scanMax: 1_000_000 }
  for (const reader of [everyType, ...readers]) {
    const told = (await eventsFor(changes, reader)).map((event) => ({
      identity: [...ids].find(([, id]) => id === event.documentId)![0],
      type: event.eventType,
      fields: event.changedFields,
      observedAt: event.observedAt,
      ingestedAt: event.ingestedAt,
      versionId: event.versionId,
    }))
    const expected = model.events(reader.scope).map(({ version, ...event }) => ({
      ...event,
      versionId: version === null ? null : versionIds.get(event.identity)![version - 1],
    }))
    assert.deepEqual(
      told,
      expected.filter(({ type }) => (reader.types as readonly string[]).includes(type)),
      JSON.stringify(reader),
    )
    if (expected.length < model.changes.length) met.hidden = (met.hidden ?? 0) + 1
    if (expected.some(({ fields }) => fields.length > 0 && fields.every((field) => field === 'language'))) {
      met.left = (met.left ?? 0) + 1
    }
  }
}
