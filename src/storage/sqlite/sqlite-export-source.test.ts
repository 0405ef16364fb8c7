import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openMemorySqlite } from '../../../test/contracts/memory-sqlite.ts'
import { fieldPermissions, type Scope } from '../../access/scope.ts'
import type { ExportPosition, ExportSource } from '../../export/export-source.ts'
import type { IncomingDocument } from '../../ingest/content-store.ts'
import { sqlExportSource } from '../sql/export-source.ts'
import { sqlStore } from '../sql/sql-store.ts'
import { sqliteExportSource } from './sqlite-export-source.ts'

const text = fc.string({ unit: 'binary', maxLength: 30 })
const name = fc.constantFrom('a', 'b', 'c')
const time = fc.integer({ min: Date.UTC(1000, 0, 1), max: Date.UTC(9999, 11, 31) })
const document: fc.Arbitrary<IncomingDocument> = fc.record(
  {
    datasetId: name,
    platform: name,
    externalId: fc.string({ minLength: 1, maxLength: 5 }),
    url: text,
    title: text,
    body: text,
    contentType: text,
    language: fc.constantFrom('en', 'de'),
    region: text,
    publishedAt: time,
    observedAt: time,
    author: fc.oneof(
      fc.record({ nickname: text, follower_count: fc.integer(), extra: fc.dictionary(text, fc.boolean()) }),
      fc.record({ external_author_id: text, verified: fc.boolean() }),
    ),
    topics: fc.uniqueArray(text, { maxLength: 2 }),
    tags: fc.uniqueArray(text, { maxLength: 2 }),
    score: fc.integer({ min: 0 }),
  },
  { requiredKeys: ['datasetId', 'platform', 'externalId'] },
)
const fields = fc.subarray([...fieldPermissions])
const open = { languages: null, regions: null, publishedFrom: null, publishedTo: null }
const scope: fc.Arbitrary<Scope> = fc.oneof(
  fc.record({ datasets: fc.subarray(['a', 'b', 'c']), fields }).map((entry) => ({
    entries: [{ ...open, ...entry, platforms: null }],
  })),
  fc
    .array(fc.record({ datasets: fc.subarray(['a', 'b']), platforms: fc.option(fc.subarray(['a', 'b'])), fields }), {
      minLength: 1,
      maxLength: 2,
    })
    .map((entries) => ({ entries: entries.map((entry) => ({ ...open, ...entry })) })),
)

test('the lines that SQLite writes are those that the general way makes of the rows, byte by byte', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(document, { maxLength: 6 }), { maxLength: 4 }),
      fc.array(scope, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 80 }),
      async (batches, scopes, documents, textBytes) => {
        const connection = await openMemorySqlite()
        try {
          const { content, operator } = sqlStore(connection.db)
          const put = (datasetId: string) =>
            ({ kind: 'dataset.put', datasetId, name: datasetId, description: null }) as const
          await operator.commit(['a', 'b', 'c'].map(put), { actor: 'test', at: 1 })
          for (const [i, batch] of batches.entries()) await content.ingest(batch, 1_700_000_000_000 + i)
          const general = sqlExportSource(connection.db)
          const bounded = sqliteExportSource(connection, { documents, versions: 10, textBytes })
          for (const one of scopes) assert.equal(await exported(bounded, one), await exported(general, one))
        } finally {
          connection.raw.close()
        }
      },
    ),
    { numRuns: 40 },
  )
})

async function exported(source: ExportSource, scope: Scope): Promise<string> {
  let lines = ''
  for (let after: ExportPosition | null = null; ; ) {
    const portion = await source.portion({ scope, after, versions: 'current', documentsMax: 1000 })
    lines += Buffer.from(portion.lines).toString()
    if (portion.atEnd) return lines
    assert.notDeepEqual(portion.position, after, 'it gets on')
    after = portion.position
  }
}
