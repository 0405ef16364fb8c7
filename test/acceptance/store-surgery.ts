import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { storeOf, type TestServer } from './harness.ts'

/** SQL in the store of a running server, behind its back: for faults that no request can make. */
export async function operate(server: TestServer, sql: string): Promise<void> {
  const { TIDEMARK_DATABASE_URL: url } = await storeOf(server.dataDir)
  if (url === undefined) {
    const database = new DatabaseSync(join(server.dataDir, 'tidemark.sqlite'), { timeout: 5000 })
    database.exec(sql)
    database.close()
    return
  }
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** Does the work while a table is not there, as after a defect in a query or a migration. */
export async function withoutTable<T>(server: TestServer, table: string, work: () => Promise<T>): Promise<T> {
  await operate(server, `alter table ${table} rename to ${table}_away`)
  try {
    return await work()
  } finally {
    await operate(server, `alter table ${table}_away rename to ${table}`)
  }
}
