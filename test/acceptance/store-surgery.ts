import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { storeOf, type TestServer } from './harness.ts'

/** Runs SQL in the store of a running server, for faults that no request can cause. */
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

/** Runs the work while a table is missing, as after a defect in a query or a migration. */
export async function withoutTable<T>(server: TestServer, table: string, work: () => Promise<T>): Promise<T> {
  await operate(server, `alter table ${table} rename to ${table}_away`)
  try {
    return await work()
  } finally {
    await operate(server, `alter table ${table}_away rename to ${table}`)
  }
}

/** Keeps an analysis run in `validating`: its worker cannot start it, and does nothing more about it. */
export async function runDoesNotBegin(server: TestServer, runId: string): Promise<void> {
  const before = `create trigger run_does_not_begin before update on analysis_run`
  const begins = `new.run_id = '${runId}' and new.status = 'running'`
  if (await isOnPostgres(server)) {
    const ignore = `create function ignore_update() returns trigger language plpgsql as 'begin return null; end'`
    await operate(server, `${ignore}; ${before} for each row when (${begins}) execute function ignore_update()`)
  } else await operate(server, `${before} when ${begins} begin select raise(ignore); end`)
}

export async function runsBegin(server: TestServer): Promise<void> {
  const onTable = (await isOnPostgres(server)) ? 'on analysis_run' : ''
  await operate(server, `drop trigger run_does_not_begin ${onTable}`)
}

const isOnPostgres = async (server: TestServer): Promise<boolean> =>
  (await storeOf(server.dataDir)).TIDEMARK_DATABASE_URL !== undefined
