import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newId } from '../platform/ids.ts'
import type { IncomingDocument, Outcome } from './content-store.ts'
import { BatchRecord, DocumentState, fieldsOfNew } from './document-state.ts'

const nowMs = Date.UTC(2026, 10, 16)
const identity = { datasetId: 'news', platform: 'wire', externalId: '1' }
const full: IncomingDocument = {
  ...identity,
  url: 'https://example.org/1',
  contentType: 'article',
  language: 'en',
  region: 'GB',
  status: 'active',
  publishedAt: nowMs - 1000,
  observedAt: nowMs - 500,
  title: 'Tide',
  body: 'The tide is high.',
  author: { external_author_id: 'a1', nickname: 'Ann' },
  topics: ['sea'],
  tags: ['tide', 'moon'],
  score: 3,
  metrics: { views: 2, likes: 1 },
  quality: 0.5,
  facts: [
    { kind: 'category', level: 'document', metadata: { label_code: 'nature' } },
    { kind: 'summary', level: 'version', metadata: { text: 'high' } },
  ],
  extraPayload: { raw: true },
}

/** A new document and its batch record. */
function batch() {
  const state = DocumentState.fresh(newId('doc', nowMs))
  const record = new BatchRecord()
  let revision = 0
  const merge = (incoming: Partial<IncomingDocument>, atMs = nowMs): Outcome =>
    state.merge({ ...identity, ...incoming }, record, atMs, () => ++revision)
  return { state, record, merge }
}

const nullOr = <Value>(value: fc.Arbitrary<Value>) => fc.oneof(fc.constant(null), value)
const text = fc.string({ maxLength: 4 })
const incoming: fc.Arbitrary<Partial<IncomingDocument>> = fc.record(
  {
    title: nullOr(text),
    body: nullOr(text),
    language: nullOr(fc.constantFrom('en', 'de')),
    status: fc.constantFrom('active', 'unavailable'),
    publishedAt: nullOr(fc.integer({ min: 0, max: 3 })),
    tags: nullOr(fc.array(text, { maxLength: 2 })),
    score: nullOr(fc.integer({ min: 0, max: 2 })),
    metrics: nullOr(fc.dictionary(fc.constantFrom('a', 'b'), fc.integer({ min: 0, max: 2 }))),
    facts: nullOr(
      fc.array(
        fc.record({
          kind: fc.constantFrom('category', 'summary'),
          level: fc.constantFrom('document', 'version'),
          metadata: fc.record({ label_code: text }),
        }),
        { maxLength: 2 },
      ),
    ),
  },
  { requiredKeys: [] },
)

test('a repeated document without changes only updates the time of observation, and adds nothing', () => {
  fc.assert(
    fc.property(fc.array(incoming, { minLength: 1, maxLength: 5 }), (sent) => {
      const { state, record, merge } = batch()
      for (const one of sent) {
        merge(one)
        const known = () => JSON.stringify([{ ...state.document, seenAt: 0 }, record])
        const before = known()
        assert.equal(merge(one, nowMs + 1), 'unchanged')
        assert.equal(state.document.seenAt, one.observedAt ?? nowMs + 1)
        assert.equal(merge({}, nowMs + 2), 'unchanged')
        assert.equal(state.document.seenAt, nowMs + 2)
        assert.equal(known(), before)
      }
    }),
  )
})

test('the event of a new document names all its fields', () => {
  fc.assert(
    fc.property(fc.oneof(incoming, fc.constant(full)), (sent) => {
      const { state, record, merge } = batch()
      merge(sent)
      assert.deepEqual(fieldsOfNew(state.document).sort(), [...record.events[0]!.changedFields].sort())
    }),
  )
})

test('each outcome adds its versions, snapshots and events, and no others', () => {
  fc.assert(
    fc.property(fc.array(incoming, { minLength: 1, maxLength: 8 }), (sent) => {
      const { state, record, merge } = batch()
      for (const one of sent) {
        const counts = () => [record.versions.length, record.snapshots.length] as const
        const [versions, snapshots] = counts()
        const eventsBefore = record.events.length
        const codes = state.document.classifications
        const outcome = merge(one)
        const [moreVersions, moreSnapshots] = [counts()[0] - versions, counts()[1] - snapshots]
        const types = record.events.slice(eventsBefore).map(({ type }) => type)
        const updated = types.filter((type) => type === 'document.updated')
        assert.ok(updated.length <= (outcome === 'created' || outcome === 'unchanged' ? 0 : 1))
        // Readers see only the codes of facts.
        const isOfHiddenFacts = one.facts !== undefined && state.document.classifications === codes
        if (outcome === 'updated' && !isOfHiddenFacts) assert.equal(updated.length, 1)
        const hasVersion = outcome === 'created' || outcome === 'version_created'
        assert.equal(moreVersions, hasVersion ? 1 : 0)
        if (outcome === 'metrics_updated') assert.equal(moreSnapshots, 1)
        if (outcome === 'updated' || outcome === 'unchanged') assert.equal(moreSnapshots, 0)
        const expected =
          outcome === 'created'
            ? ['document.created']
            : [
                ...(hasVersion ? ['document.version.created'] : []),
                ...(moreSnapshots > 0 ? ['document.metrics.updated'] : []),
                ...updated,
              ]
        assert.deepEqual(types, expected)
        assert.equal(state.document.versionCount, record.versions.length)
        assert.equal(state.document.currentVersionId, record.versions.at(-1)!.versionId)
        assert.equal(state.document.snapshotId, record.snapshots.at(-1)?.snapshotId ?? null)
      }
    }),
  )
})

/** The fields of the document that consumers read, in their stored form. Text and metrics have events of their own. */
const shown = {
  url: 'url',
  content_type: 'contentType',
  language: 'language',
  region: 'region',
  status: 'status',
  published_at: 'publishedAt',
  author: 'author',
  topics: 'topics',
  tags: 'tags',
  classifications: 'classifications',
} as const

test('an update names exactly the changed fields besides text and metrics, by their names in the document', () => {
  fc.assert(
    fc.property(fc.array(incoming, { minLength: 2, maxLength: 6 }), ([first, ...others]) => {
      const { state, record, merge } = batch()
      merge(first!)
      for (const one of others) {
        const before = { ...state.document }
        const eventsBefore = record.events.length
        merge(one, nowMs + 1)
        const updated = record.events.slice(eventsBefore).find(({ type }) => type === 'document.updated')
        const changed = Object.entries(shown).filter(([, name]) => before[name] !== state.document[name])
        const fields = changed.map(([field]) => field)
        assert.deepEqual(
          (updated?.changedFields ?? []).filter((field) => field !== 'observed_at').sort(),
          fields.sort(),
        )
        if (updated !== undefined) assert.equal(updated.versionId, null)
      }
    }),
  )
})

test('a new time of observation alone is an event, and adds none to other events', () => {
  const { record, merge } = batch()
  merge(full)
  const eventsOf = (fields: Partial<IncomingDocument>, atMs: number) => {
    const from = record.events.length
    merge({ ...fields, observedAt: atMs }, nowMs)
    return record.events.slice(from).map(({ type, changedFields }) => `${type} ${changedFields}`)
  }
  assert.deepEqual(eventsOf({}, nowMs), ['document.updated observed_at'])
  assert.deepEqual(eventsOf({ score: 9 }, nowMs + 1), ['document.metrics.updated score'])
  assert.deepEqual(eventsOf({ title: 'Ebb' }, nowMs + 2), ['document.version.created title,observed_at,facts'])
  assert.deepEqual(eventsOf({ title: 'Flood', tags: ['x'] }, nowMs + 3), [
    'document.version.created title,tags,observed_at',
    'document.updated tags,observed_at',
  ])
  assert.deepEqual(eventsOf({ quality: 1 }, nowMs + 4), ['document.updated observed_at'])
  assert.deepEqual(eventsOf({ score: 10, facts: null }, nowMs + 5), [
    'document.metrics.updated score',
    'document.updated observed_at,classifications',
  ])
})

test('null removes the stored value', () => {
  const { state, merge } = batch()
  assert.equal(merge(full), 'created')
  const none = {
    url: null,
    contentType: null,
    language: null,
    region: null,
    publishedAt: null,
    title: null,
    body: null,
  }
  const nor = { author: null, topics: null, tags: null, score: null, metrics: null, quality: null, facts: null }
  assert.equal(merge({ ...none, ...nor, extraPayload: null }), 'version_created')
  const { documentId, datasetId, platform, externalId, ...rest } = state.document
  const { status, observedAt, seenAt, snapshotId, currentVersionId, versionCount, indexRevision, ...taken } = rest
  assert.deepEqual([datasetId, platform, externalId, status, versionCount], ['news', 'wire', '1', 'active', 2])
  assert.deepEqual(new Set(Object.values(taken)), new Set([null]))
})

test('facts about a version end with it, facts about the document stay', () => {
  const { state, record, merge } = batch()
  merge(full)
  assert.equal(state.document.classifications, '["nature"]')
  merge({ body: 'The tide is low.' })
  assert.deepEqual(JSON.parse(state.document.facts!), [full.facts![0]])
  assert.deepEqual(
    record.factSets.map(({ versionId, facts }) => [versionId, facts]),
    [
      [null, [full.facts![0]]],
      [record.versions[0]!.versionId, [full.facts![1]]],
    ],
  )
})

test('ids of versions and snapshots stay in order if the clock is set back', () => {
  const { record, merge } = batch()
  for (let i = 0; i < 5; i++) merge({ title: `${i}`, score: i }, nowMs - 60_000 * i)
  for (const ids of [record.versions.map((one) => one.versionId), record.snapshots.map((one) => one.snapshotId)]) {
    assert.equal(ids.length, 5)
    assert.deepEqual(ids, ids.toSorted())
  }
})

test('a stored body is needed only if the title changes alone', () => {
  const first = batch()
  first.merge(full)
  const stored = DocumentState.stored(first.state.document)
  assert.equal(stored.needsBody({ ...identity, title: 'Ebb' }), true)
  assert.equal(stored.needsBody({ ...identity, title: 'Tide' }), false)
  assert.equal(stored.needsBody({ ...identity, title: 'Ebb', body: 'New.' }), false)
  stored.setBody(full.body!)
  const record = new BatchRecord()
  stored.merge({ ...identity, title: 'Ebb' }, record, nowMs, () => 7)
  assert.deepEqual([record.versions[0]!.title, record.versions[0]!.body], ['Ebb', full.body])
})
