import pg from 'pg'

/** Where a PostgreSQL server is to be found for the tests; null runs them on SQLite alone. */
const testDatabaseUrl = process.env.TEST_DATABASE_URL ?? null

let made = 0

/** An empty database of its own on the server of the tests. */
export async function freshDatabase(): Promise<{ url: string; remove(): Promise<void> }> {
  const name = `test_${process.pid}_${++made}`
  await administer(`create database ${name}`)
  const url = new URL(testDatabaseUrl!)
  url.pathname = `/${name}`
  return { url: url.href, remove: () => administer(`drop database ${name} with (force)`) }
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client(testDatabaseUrl!)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
