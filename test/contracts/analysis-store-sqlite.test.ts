import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { sql } from 'kysely'
import { type Store, sqlStore } from '../../src/storage/sql/sql-store.ts'
import { sqliteStore } from '../../src/storage/sqlite/sqlite-store.ts'
import { casesOf } from '../support/cases.ts'
import { analysisInputContract } from './analysis-input.ts'
import { analysisStoreContract } from './analysis-store.ts'
import { subscriptionContract } from './analysis-subscriptions.ts'
import { openMemorySqlite } from './memory-sqlite.ts'

async function open(): Promise<Store> {
  return sqliteStore(await openMemorySqlite())
}

suite('the store of analysis runs: sqlite', () => {
  analysisStoreContract(async () => (await open()).analysis, casesOf(150, 50))

  test('an artifact that a process without names has recorded is the edges of a graph', async () => {
    const { db } = await openMemorySqlite()
    await sql`insert into analysis_artifact (artifact_id, run_id, row_count, byte_count, sha256)
              values ('art_1', 'run_1', 1, 2, 'ab')`.execute(db)
    const expected = { artifactId: 'art_1', name: 'edges', rows: 1, bytes: 2, sha256: 'ab' }
    assert.deepEqual(await sqlStore(db).analysis.artifacts('run_1'), [expected])
  })
})
analysisInputContract('sqlite', open)
subscriptionContract('sqlite', open, { numRuns: 60, isConcurrent: false })
