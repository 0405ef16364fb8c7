import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { sql } from 'kysely'
import type { FieldPermission, Scope } from '../../src/access/scope.ts'
import type { ReadableDocument } from '../../src/catalog/document-answer.ts'
import type { Conditions, FacetName, ListedName } from '../../src/document/field-types.ts'
import { type DocumentField, documentFields } from '../../src/document/fields.ts'
import type { ExportStep } from '../../src/export/read-export.ts'
import type { PutVersion } from '../../src/indexing/fed-index.ts'
import type { SearchBody } from '../../src/search/parse/search-request.ts'
import type { ResultField } from '../../src/search/present/result-fields.ts'
import { noFilters } from '../../src/search/search-index.ts'

/** Fields that no document has. They are added to the table before any module that derives from it is loaded. */
const added = {
  sea_state: {
    property: 'seaState',
    kind: 'text',
    input: { form: 'text', most: 20, description: 'How high the waves were.' },
    change: 'update',
    openedBy: ['metadata'],
    answer: { description: 'Needs the permission `metadata`.' },
    result: { from: 'details', description: 'How high the waves were.' },
  },
  buoys: {
    property: 'buoys',
    kind: 'texts',
    input: { form: 'words', most: 2 },
    change: 'update',
    answer: {},
    result: { from: 'details' },
    indexed: 'catalog',
    filter: { parameter: 'buoys', label: 'buoys', term: 900 },
    facet: 'buoys',
    isListed: true,
  },
  wave_height: {
    property: 'waveHeight',
    kind: 'integer',
    input: { form: 'integer' },
    change: 'update',
    openedBy: ['facts'],
    answer: {},
    result: { from: 'details' },
    indexed: 'catalog',
    filter: { parameter: 'wave_height', label: 'wave height' },
  },
  vessel: {
    property: 'vessel',
    kind: 'text',
    input: { form: 'text', most: 20 },
    change: 'update',
    answer: {},
    result: { from: 'details' },
    indexed: 'catalog',
    filter: { parameter: 'vessels', label: 'vessels', term: 901 },
    facet: 'vessel',
  },
  high_water_at: {
    property: 'highWaterAt',
    kind: 'time',
    input: { form: 'moment' },
    change: 'update',
    openedBy: ['facts'],
    answer: {},
    result: { from: 'details' },
  },
} as const satisfies Readonly<Record<string, DocumentField>>
const columnTypes = {
  sea_state: 'text',
  buoys: 'text',
  wave_height: 'bigint',
  vessel: 'text',
  high_water_at: 'bigint',
} as const
Object.assign(documentFields, added)

const { checkDocument, DocumentInput, TaskDocumentInput } = await import('../../src/ingest/document-input.ts')
const { Document } = await import('../../src/catalog/answers.ts')
const { documentAnswer, readableDocument } = await import('../../src/catalog/document-answer.ts')
const { parquetPage } = await import('../../src/export/parquet-page.ts')
const { copiedDocument } = await import('../../src/mirror/copied-document.ts')
const { SqliteCopy } = await import('../../src/mirror/sqlite-copy.ts')
const { ParquetCopy } = await import('../../src/mirror/parquet-copy.ts')
const { resultFields } = await import('../../src/search/present/result-fields.ts')
const { ResultItem } = await import('../../src/search/present/result-item.ts')
const { presentResults } = await import('../../src/search/present/present-results.ts')
const { sqlStore } = await import('../../src/storage/sql/sql-store.ts')
const { parseQuery } = await import('../../src/text/parse-query.ts')
const { narrowingFields } = await import('../../src/search/parse/narrowing.ts')
const { parse } = await import('../../src/search/parse/parse.ts')
const { facetNames, listedNames } = await import('../../src/document/rows.ts')
const { search: searchTool } = (await import('../../src/mcp/tools/search.ts')) as unknown as ToolModule<'search'>
const { browse: browseTool } = (await import('../../src/mcp/tools/browse.ts')) as unknown as ToolModule<'browse'>
const { indexDefinition } = await import('../../src/storage/opensearch/mapping.ts')
const { changeDocument } = await import('../../src/storage/opensearch/stored-document.ts')
const { conditionQueries } = await import('../../src/storage/opensearch/scope-query.ts')
const { changesOf } = await import('../../src/indexing/read-packed.ts')
const { InProcessSegments } = await import('./in-process-segments.ts')
const { openMemorySqlite } = await import('./memory-sqlite.ts')
const { eventsOf, openScope } = await import('./content-store.ts')

type ToolModule<Name extends string> = Readonly<Record<Name, { readonly input: { readonly properties: object } }>>

const wholeListing = {
  contentTypes: null,
  publishedFrom: null,
  publishedTo: null,
  createdFrom: null,
  createdTo: null,
  status: null,
  exact: null,
  before: null,
  limit: 10,
  snapshot: false,
  answerBy: null,
}
const wholeSearch = {
  query: parseQuery('waves', null),
  filters: noFilters,
  limit: 10,
  after: null,
  otherChunksMax: 0,
  timeoutMs: 10_000,
}

const startMs = Date.UTC(2026, 10, 1)
const sent = {
  dataset_id: 'd',
  source_platform: 'p',
  external_id: '1',
  body: 'The waves came over the wall.',
  observed_at: '2026-10-31T00:00:00Z',
}
const values = {
  sea_state: 'rough',
  buoys: ['north', 'south'],
  wave_height: 3,
  vessel: 'Tern',
  high_water_at: '2026-10-30T06:00:00.000Z',
}
type Values = Readonly<Record<string, unknown>>
const none: Values = { sea_state: null, buoys: [], wave_height: null, vessel: null, high_water_at: null }

/** The values that a reader with these permissions sees. */
const openTo = (...permissions: readonly FieldPermission[]): Values =>
  Object.fromEntries(
    Object.entries(values).filter(([name]) => {
      const { openedBy }: DocumentField = added[name as keyof typeof added]
      return openedBy === undefined || openedBy.some((permission) => permissions.includes(permission))
    }),
  )

const namesOf = (schema: object): readonly string[] =>
  Object.keys((schema as { readonly properties: object }).properties)
const ofAdded = (object: object): Values =>
  Object.fromEntries(Object.entries(object).filter(([name]) => Object.hasOwn(added, name)))

suite('fields that a test adds to the table of document fields', () => {
  let close: () => void
  let store: ReturnType<typeof sqlStore>
  let documentId: string
  let index: InstanceType<typeof InProcessSegments>
  let put: PutVersion
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-field-'))
  const all = openScope('d')
  const scopeOf = (...fields: readonly FieldPermission[]): Scope => ({ entries: [{ ...all.entries[0]!, fields }] })

  before(async () => {
    const { raw, db } = await openMemorySqlite()
    close = () => raw.close()
    for (const [name, type] of Object.entries(columnTypes)) {
      await sql`alter table document add column ${sql.ref(name)} ${sql.raw(type)}`.execute(db)
    }
    store = sqlStore(db)
    const mark = { actor: 'test', at: startMs }
    await store.operator.commit([{ kind: 'dataset.put', datasetId: 'd', name: 'd', description: null }], mark)
    const [result] = await ingest({ ...sent, ...values }, startMs)
    assert.ok(result !== undefined && 'documentId' in result)
    documentId = result.documentId
    const limits = { documents: 10, characters: 1000, isBehind: false }
    const portion = await store.indexSource.preparedAfter(0, limits)
    await store.indexSource.putChunks(portion!.chunks)
    put = changesOf(portion!.changes).find((change): change is PutVersion => change.kind === 'put_version')!
    index = new InProcessSegments({ path: join(folder, 'index.sqlite'), sealChunks: 8, segmentChunks: 32 })
    assert.deepEqual(await index.apply({ position: 1, changes: [put] }), { outcome: 'applied' })
  })
  after(() => {
    close()
    rmSync(folder, { recursive: true })
  })

  async function ingest(document: Values, atMs: number) {
    const checked = checkDocument(document)
    assert.ok('document' in checked, JSON.stringify(checked))
    return store.content.ingest([checked.document], atMs)
  }
  const readable = async (scope: Scope): Promise<ReadableDocument> =>
    readableDocument((await store.catalog.documents([documentId], { snapshot: false }))[0]!, scope)!
  const changedFields = async (scope: Scope, type: 'document.created' | 'document.updated') => {
    const range = { after: null, limit: 100, scanMax: 1000, ingestedFrom: null, ingestedTo: null }
    const page = await store.changes.read({ ...range, scope, eventTypes: [type] })
    return eventsOf(page).map((event) => event.changedFields.filter((name) => Object.hasOwn(added, name)))
  }

  test('are in the schemas of requests and answers', () => {
    for (const schema of [DocumentInput, TaskDocumentInput, Document, ResultItem]) {
      assert.deepEqual(
        Object.keys(added).filter((name) => !namesOf(schema).includes(name)),
        [],
      )
    }
    assert.deepEqual(
      Object.keys(added).filter((name) => !(resultFields as readonly string[]).includes(name)),
      [],
    )
  })

  test('are checked when they are sent', () => {
    for (const [name, wrong] of [
      ['sea_state', 'x'.repeat(21)],
      ['buoys', ['a', 'b', 'c']],
      ['high_water_at', 'noon'],
    ] as const) {
      const checked = checkDocument({ ...sent, [name]: wrong })
      assert.ok('refusal' in checked)
      assert.deepEqual(
        checked.refusal.details?.map(({ path }) => path),
        [name],
      )
    }
  })

  test('are in answers for readers with their permission, and are null when nothing is known', async () => {
    assert.deepEqual(ofAdded(documentAnswer(await readable(all))), values)
    assert.deepEqual(Object.keys(openTo('metadata')), ['sea_state', 'buoys', 'vessel'])
    for (const permission of ['metadata', 'facts'] as const) {
      assert.deepEqual(ofAdded(documentAnswer(await readable(scopeOf(permission)))), openTo(permission))
    }
    const [other] = await ingest({ ...sent, external_id: 'bare' }, startMs)
    assert.ok(other !== undefined && 'documentId' in other)
    const [record] = await store.catalog.documents([other.documentId], { snapshot: false })
    assert.deepEqual(ofAdded(documentAnswer(readableDocument(record!, all)!)), none)
  })

  test('are in results for readers with their permission', async () => {
    const limits = { documents: 10, characters: 1000, isBehind: false }
    const portion = await store.indexSource.preparedAfter(0, limits)
    await store.indexSource.putChunks(portion!.chunks)
    const { chunkId, versionId } = portion!.chunks.find((chunk) => chunk.documentId === documentId)!
    const best = { chunkId, versionId, score: 1 }
    const scores = { score: 1, keywordScore: 1, vectorScore: null, rerankScore: null, explanation: null }
    const shown = async (scope: Scope, fields: readonly ResultField[]) => {
      const page = { found: [{ documentId, best, others: [], ...scores }], query: parseQuery('waves', null) }
      const parts = { fields: new Set(fields), highlights: false, chunks: false }
      return ofAdded((await presentResults(store.indexSource, { ...page, ...parts }, scope)).results[0]!)
    }
    assert.deepEqual(await shown(all, resultFields), values)
    assert.deepEqual(await shown(scopeOf('body'), resultFields), openTo('body'))
    assert.deepEqual(await shown(all, ['sea_state' as ResultField]), { sea_state: values.sea_state })
  })

  test('are in lines of exports, in Parquet files and in copies', async () => {
    const query = { scope: all, after: null, versions: 'current', documentsMax: 1 } as const
    const { lines } = await store.exportSource.portion(query)
    const line = JSON.parse(lines)
    assert.deepEqual(ofAdded(line.document), values)

    const step = { lines, progress: {}, isCheckpoint: false, atEnd: true } as unknown as ExportStep
    const { bytes } = await parquetPage(
      (async function* () {
        yield step
      })(),
      1_000_000,
    )
    const file = Uint8Array.from(bytes).buffer
    const [row] = await parquetReadObjects({ file, compressors })
    assert.deepEqual(ofAdded(row!), { ...values, high_water_at: new Date(values.high_water_at) })

    const copied = copiedDocument(line.document, line.content)
    const asCopied = { ...values, buoys: JSON.stringify(values.buoys) }
    assert.deepEqual(ofAdded(copied), asCopied)
    const copies = [new SqliteCopy(join(folder, 'copy.sqlite')), await ParquetCopy.open(join(folder, 'copy'))]
    for (const copy of copies) {
      const position = {
        applicationId: 'a',
        entitlements: '',
        exportCursor: null,
        exportedThrough: '',
        changesCursor: 'c',
      }
      await copy.save({ documents: [copied], gone: [], position })
      assert.deepEqual({ ...(await copy.read([documentId]))[0] }, copied)
      await copy.close()
    }
  })

  test('are parameters of listings, keyword searches and tools if they have a filter', () => {
    const parameters = ['buoys', 'wave_height_min', 'wave_height_max', 'vessels']
    for (const schema of [narrowingFields, browseTool.input.properties, searchTool.input.properties]) {
      assert.deepEqual(
        parameters.filter((name) => !Object.hasOwn(schema, name)),
        [],
      )
    }
    const body = {
      query: 'waves',
      buoys: ['north'],
      wave_height_max: 5,
      facets: ['vessel', 'buoys'],
    } as unknown as SearchBody
    const { request, access } = parse(body, 'keyword', null)
    assert.deepEqual(request.conditions, { buoys: ['north'], waveHeight: { min: null, max: 5 } })
    assert.deepEqual(access.needs, [['title', 'body'], ['facts']])
    assert.throws(() => parse(body, 'hybrid', null), /buoys works in keyword mode only/)
    assert.ok(
      (facetNames as readonly string[]).includes('vessel') && !(listedNames as readonly string[]).includes('vessel'),
    )
    assert.ok((listedNames as readonly string[]).includes('buoys'))
  })

  for (const [conditions, finds] of [
    [{ buoys: ['south', 'west'] }, true],
    [{ buoys: ['west'] }, false],
    [{ vessel: ['Tern'] }, true],
    [{ vessel: ['tern'] }, false],
    [{ waveHeight: { min: 3, max: 3 } }, true],
    [{ waveHeight: { min: 4, max: null } }, false],
    [{ buoys: ['north'], vessel: ['Gull'] }, false],
    [{ buoys: Array.from({ length: 20 }, (_, i) => `b${i}`), vessel: ['Tern'] }, false],
  ] as unknown as [Conditions, boolean][]) {
    test(`listings and searches ${finds ? 'find' : 'do not find'} by ${JSON.stringify(conditions).slice(0, 60)}`, async () => {
      const listed = await store.catalog.browse({ ...wholeListing, scope: all, conditions })
      assert.deepEqual(
        listed.map((record) => record.documentId),
        finds ? [documentId] : [],
      )
      const page = await index.keyword({ ...wholeSearch, scope: all, conditions })
      assert.ok(page.outcome === 'found')
      assert.deepEqual(
        page.hits.map((hit) => hit.documentId),
        finds ? [documentId] : [],
      )
    })
  }

  test('are counted and listed by the index', async () => {
    const facets = { of: ['buoys', 'vessel'] as unknown as FacetName[], limit: 10 }
    const page = await index.keyword({ ...wholeSearch, scope: all, facets })
    assert.ok(page.outcome === 'found')
    const one = (value: string) => ({ value, count: 1 })
    assert.deepEqual(page.facets, [[one('north'), one('south')], [one('Tern')]])
    const request = { scope: all, field: 'buoys' as ListedName, prefix: 's', after: null, limit: 10, timeoutMs: 10_000 }
    assert.deepEqual(await index.values(request), { outcome: 'found', values: [one('south')], next: null })
  })

  test('are in the mapping, the documents and the queries of OpenSearch', () => {
    const { properties } = indexDefinition(
      { format: 1, rules: '', instance: null, shards: 1, profiles: {} },
      1,
    ).mappings
    assert.deepEqual(
      ['buoys', 'vessel', 'wave_height'].map((name) => (properties as Record<string, { type: string }>)[name]?.type),
      ['keyword', 'keyword', 'double'],
    )
    const dimensions = { of: () => undefined, fix: () => {} }
    assert.deepEqual(ofAdded(changeDocument(null, put, 1, dimensions)!), {
      buoys: values.buoys,
      vessel: values.vessel,
      wave_height: values.wave_height,
    })
    const conditions = { buoys: ['north'], waveHeight: { min: 1, max: null } } as Conditions
    assert.deepEqual(conditionQueries(conditions, [], false), [
      { terms: { buoys: ['north'] } },
      { range: { wave_height: { gte: 1 } } },
    ])
  })

  test('are named by events of what changed, to readers with their permission', async () => {
    assert.deepEqual((await changedFields(all, 'document.created'))[0], Object.keys(added))
    assert.deepEqual(await ingest({ ...sent, sea_state: 'rough' }, startMs + 1).then(outcomesOf), ['unchanged'])
    assert.deepEqual(await changedFields(all, 'document.updated'), [])
    assert.deepEqual(await ingest({ ...sent, sea_state: 'calm' }, startMs + 2).then(outcomesOf), ['updated'])
    assert.deepEqual(await changedFields(all, 'document.updated'), [['sea_state']])
    assert.deepEqual(await changedFields(scopeOf('facts'), 'document.updated'), [])
    await ingest({ ...sent, high_water_at: null, buoys: [] }, startMs + 3)
    assert.deepEqual(await changedFields(all, 'document.updated'), [['sea_state'], ['buoys', 'high_water_at']])
    assert.deepEqual(await changedFields(scopeOf(), 'document.updated'), [['buoys']])
    const known = { ...values, sea_state: 'calm', buoys: [], high_water_at: null }
    assert.deepEqual(ofAdded(documentAnswer(await readable(all))), known)
  })
})

const outcomesOf = (results: readonly object[]): readonly unknown[] =>
  results.map((result) => ('outcome' in result ? result.outcome : result))
