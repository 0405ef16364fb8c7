import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { before, suite, test } from 'node:test'
import { Kysely, type RawBuilder, SqliteDialect } from 'kysely'
import { fieldPermissions, type ScopeEntry } from '../../access/scope.ts'
import type { BrowseQuery } from '../../catalog/catalog-store.ts'
import type { IncomingDocument } from '../../ingest/content-store.ts'
import { sqliteMigrationDialect } from '../sqlite/migration-dialect.ts'
import { laneDocumentsQuery, laneFloorQuery } from './browse-ids.ts'
import { driversOf, type LaneLookup, type LaneSet, listingIndexes } from './browse-lanes.ts'
import { sqlCatalogStore } from './catalog-store.ts'
import { sqlContentStore } from './content-store.ts'
import { migrate } from './migrate.ts'
import type { Tables } from './tables.ts'

type Value = string | number | null

/** The real schema. Records every statement that is prepared. */
async function openRecorded(): Promise<{ raw: DatabaseSync; db: Kysely<Tables>; texts: Set<string> }> {
  const raw = new DatabaseSync(':memory:')
  const texts = new Set<string>()
  const prepare = (text: string) => {
    texts.add(text)
    const statement = raw.prepare(text)
    return {
      reader: statement.columns().length > 0,
      all: (values: readonly unknown[]) => statement.all(...(values as Value[])),
      run: (values: readonly unknown[]) => statement.run(...(values as Value[])),
      iterate: (values: readonly unknown[]) => statement.iterate(...(values as Value[])),
    }
  }
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: { close: () => raw.close(), prepare } }) })
  await migrate(db, sqliteMigrationDialect, 0)
  return { raw, db, texts }
}

const anywhere: ScopeEntry = {
  datasets: ['d1', 'd2'],
  platforms: null,
  languages: null,
  regions: null,
  publishedFrom: null,
  publishedTo: null,
  fields: fieldPermissions,
}
const dayMs = 86_400_000
const startMs = Date.UTC(2026, 0, 1)

/** Entries with every kind of restriction, so that every kind of lane of an entitlement occurs. */
const scopes: Record<string, readonly ScopeEntry[]> = {
  'one entry': [anywhere],
  'many entries': [
    { ...anywhere, platforms: ['p1', 'p2'] },
    { ...anywhere, languages: ['en', 'de'], regions: ['GB'] },
    { ...anywhere, regions: ['DE', 'GB'], publishedFrom: startMs },
    { ...anywhere, publishedFrom: startMs, publishedTo: startMs + 20 * dayMs },
    { ...anywhere, publishedTo: startMs + 3 * dayMs, languages: ['is'], platforms: ['p3'] },
    { ...anywhere, datasets: ['d3'] },
  ],
}
const plain: Omit<BrowseQuery, 'scope'> = {
  conditions: {},
  contentTypes: null,
  publishedFrom: null,
  publishedTo: null,
  createdFrom: startMs,
  createdTo: startMs + 31 * dayMs,
  status: null,
  exact: null,
  before: null,
  limit: 51,
  snapshot: true,
  answerBy: null,
}
const manyValues = Array.from({ length: 150 }, (_, i) => `t${i}`)
const filters = {
  author: { conditions: { externalAuthorId: ['u1'] } },
  topics: { conditions: { topics: ['t1', 't2'] } },
  tags: { conditions: { tags: ['g1'] } },
  classifications: { conditions: { classifications: ['c1', 'c2', 'c3'] } },
  score: { conditions: { score: { min: -3, max: 40 } } },
  'score from': { conditions: { score: { min: 5, max: null } } },
  publication: { publishedFrom: startMs, publishedTo: startMs + 9 * dayMs },
  'publication to': { publishedTo: startMs + 9 * dayMs },
  types: { contentTypes: ['article', 'post'] },
  status: { status: 'unavailable' },
} satisfies Record<string, Partial<BrowseQuery>>
const queries: Record<string, Partial<BrowseQuery>> = {
  none: {},
  ...filters,
  all: {
    ...Object.assign({}, ...Object.values(filters)),
    conditions: Object.assign({}, ...Object.values<Partial<BrowseQuery>>(filters).map(({ conditions }) => conditions)),
  },
  'many values': {
    conditions: { tags: manyValues, topics: manyValues, classifications: manyValues.slice(0, 9) },
  },
  'second page': { ...filters.tags, before: 'doc_01kdzs0000zzzzzzzzzzzzzzzz' },
  exact: { exact: { text: 'x1', platforms: ['p1', 'p2'] } },
  'exact, no window': { exact: { text: 'x1', platforms: null }, createdFrom: null, createdTo: null },
  'exact, all': {
    conditions: { ...filters.tags.conditions, ...filters.score.conditions },
    exact: { text: 'https://a.example/1', platforms: ['p1'] },
  },
}

/** With an author, every entry is narrowed to the one platform in the request. */
function queryOf(entries: readonly ScopeEntry[], parts: Partial<BrowseQuery>): BrowseQuery {
  const narrowed = parts.conditions?.externalAuthorId ? entries.map((one) => ({ ...one, platforms: ['p1'] })) : entries
  return { ...plain, scope: { entries: narrowed }, ...parts }
}

const indexNames: Partial<Record<LaneSet['index'], string>> = {
  document_term_pk: 'PRIMARY KEY',
  document_pk: 'sqlite_autoindex_document_1',
  document_pk_whole: 'sqlite_autoindex_document_1',
}

suite('query plans of listings', () => {
  let store: Awaited<ReturnType<typeof openRecorded>>

  before(async () => {
    store = await openRecorded()
    for (const name of ['d1', 'd2', 'd3']) {
      store.raw
        .prepare('insert into dataset (dataset_id, name, created_at, updated_at) values (?, ?, 0, 0)')
        .run(name, name)
    }
  })

  const planOf = (text: string): string[] =>
    (store.raw.prepare(`explain query plan ${text}`).all() as { detail: string }[]).map(({ detail }) => detail)

  /** Fails if the statement reads a whole table or index, or sorts. */
  function checkPlan(text: string): string[] {
    const plan = planOf(text)
    for (const line of plan) {
      assert.doesNotMatch(line, /TEMP B-TREE|AUTOMATIC/, `${text}\n${plan.join('\n')}`)
      const scanned = /^SCAN (.*)$/.exec(line)?.[1]
      // Only the lanes, and the one row for each of them, may be read from end to end.
      if (scanned !== undefined)
        assert.match(scanned, /^(\d+-ROW VALUES CLAUSE|(\d+ )?CONSTANT ROWS?|lane|floors|days|occurs)$/, text)
    }
    return plan
  }

  function checkIndexUse(statement: RawBuilder<unknown>, set: LaneSet): void {
    const { sql: text } = statement.compile(store.db)
    const plan = checkPlan(text)
    const accesses = plan.filter((line) => / lane_key /.test(line))
    const name = indexNames[set.index] ?? set.index
    const shown = `${set.index}: ${text}\n${plan.join('\n')}`
    assert.equal(accesses.length, 1, shown)
    const [, used, terms] =
      /^SEARCH lane_key USING (?:COVERING )?(?:INDEX )?(\S+|PRIMARY KEY) \((.*)\)$/.exec(accesses[0]!) ?? []
    assert.equal(used, name, shown)
    // Every leading column is used, and then the bounds of the id, so no other entry of the index is read.
    assert.equal(terms!.match(/=\?/g)?.length ?? 0, listingIndexes[set.index].leading.length, shown)
    if (set.index !== 'document_by_identity' && set.index !== 'document_pk') {
      assert.match(terms!, /document_id>\? AND document_id<\?$/, shown)
    }
  }

  const usedIndexes = new Set<string>()
  async function checkAll(): Promise<void> {
    const look: LaneLookup = {
      publishedDays: async () => ({ first: 20_450, last: 20_460 }),
      datasetsOf: async (_, values) => values.map((value) => ({ value, dataset: 'd1' })),
    }
    const range = { from: 'doc_0000000000', below: 'doc_zzzzzzzzzz', size: 51 }
    for (const entries of Object.values(scopes)) {
      for (const parts of Object.values(queries)) {
        const query = queryOf(entries, parts)
        for (const driver of await driversOf(query, look)) {
          for (const set of driver.parts.flat()) {
            usedIndexes.add(set.index)
            checkIndexUse(laneFloorQuery(set, range), set)
            checkIndexUse(laneDocumentsQuery(set, driver.guarantees, query, range.from, range.below), set)
          }
        }
      }
    }
    const whole: LaneSet = { index: 'document_pk_whole', lanes: [[]] }
    usedIndexes.add(whole.index)
    checkIndexUse(laneFloorQuery(whole, range), whole)
    checkIndexUse(laneDocumentsQuery(whole, null, queryOf([anywhere], queries.all!), range.from, range.below), whole)
  }

  test('every lane of every condition is read by its own index, with one condition and with all', async () => {
    await checkAll()
    assert.deepEqual([...usedIndexes].sort(), Object.keys(listingIndexes).sort())
  })

  test('the same is true for a database with documents and planner statistics', async () => {
    const documents = Array.from(
      { length: 3000 },
      (_, i): IncomingDocument => ({
        datasetId: `d${(i % 3) + 1}`,
        platform: `p${(i % 5) + 1}`,
        externalId: `x${i}`,
        body: 'text',
        url: `https://a.example/${i % 40}`,
        contentType: i % 2 === 0 ? 'article' : 'post',
        language: i % 50 === 0 ? 'is' : 'en',
        region: i % 3 === 0 ? 'GB' : 'DE',
        status: i % 20 === 0 ? 'unavailable' : 'active',
        publishedAt: startMs + (i % 40) * dayMs,
        author: { external_author_id: `u${i % 7}` },
        topics: [`t${i % 3}`],
        tags: [`g${i % 2}`, `rare${i}`],
        score: (i % 100) - 50,
        facts: [{ kind: 'category', level: 'document', metadata: { label_code: `c${i % 4}` } }],
      }),
    )
    const content = sqlContentStore(store.db)
    for (let i = 0; i < documents.length; i += 500) {
      await content.ingest(documents.slice(i, i + 500), startMs + (i / 500) * 5 * dayMs)
    }
    store.raw.exec('analyze')
    await checkAll()
  })

  test('no statement of a listing scans or sorts, on any page', async () => {
    const catalog = sqlCatalogStore(store.db)
    store.texts.clear()
    let found = 0
    for (const entries of Object.values(scopes)) {
      for (const parts of Object.values(queries)) {
        const query = queryOf(entries, parts)
        for (let last = query.before, page = 0; page < 3; page++) {
          const records = await catalog.browse({ ...query, before: last })
          found += records.length
          if (records.length < query.limit) break
          last = records.at(-1)!.documentId
        }
      }
    }
    assert.ok(found > 1000)
    assert.ok(store.texts.size > 50)
    for (const text of store.texts) checkPlan(text)
  })

  test('docs/catalog-indexes.md lists exactly the indexes of listings', () => {
    const text = readFileSync(new URL('../../../docs/catalog-indexes.md', import.meta.url), 'utf8')
    const rows = text.split('\n').filter((line) => /^\| .*\| .*\|/.test(line) && !line.startsWith('| condition'))
    const named = new Map<string, string[]>()
    for (const row of rows) {
      const [name, ...columns] = [...row.split('|')[2]!.matchAll(/`([^`]+)`/g)].map(([, word]) => word!)
      if (name !== undefined && (name.startsWith('document') || name === 'snapshot')) named.set(name, columns)
    }
    const columnsOf = (index: string) =>
      (store.raw.prepare(`pragma index_xinfo(${index})`).all() as { name: string | null; key: number; cid: number }[])
        .filter(({ key }) => key === 1)
        .map(({ name }) => name)
    const used = Object.keys(listingIndexes).filter((name) => name.startsWith('document_by_'))
    assert.deepEqual([...named.keys()].filter((name) => name.startsWith('document_by_')).sort(), used.sort())
    for (const name of used) {
      // An expression has no name. The docs page names the column that it is made from.
      const real = columnsOf(name)
      const expected = named.get(name)!
      assert.equal(real.length, expected.length, name)
      real.forEach((column, i) => {
        if (column !== null) assert.equal(expected[i], column, name)
      })
    }
    assert.deepEqual(named.get('document_term'), ['kind', 'value', 'dataset_id', 'document_id'])
  })
})
