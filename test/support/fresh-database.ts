import pg from 'pg'

/** The prefix of all test databases. */
const prefix = 'tidemark_test_'

let created = 0

/** Creates an empty database on the server of TEST_DATABASE_URL. */
export async function freshDatabase(options = ''): Promise<{ url: string; remove(): Promise<void> }> {
  const name = `${prefix}${process.pid}_${++created}`
  await administer((client) => client.query(`create database ${name} ${options}`))
  const url = new URL(serverUrl())
  url.pathname = `/${name}`
  return { url: url.href, remove: () => administer((client) => client.query(`drop database ${name} with (force)`)) }
}

/**
 * Creates a database with a store's tables and no rows. If the test run has created a template, it is copied, because
 * that is faster than migrations. Otherwise the database is empty, and the store that opens it migrates it.
 */
export function freshStoreDatabase(): ReturnType<typeof freshDatabase> {
  const template = process.env.TEST_DATABASE_TEMPLATE
  return freshDatabase(template === undefined ? '' : `template ${template}`)
}

/** Removes databases that test processes left behind. */
export async function removeTestDatabases(): Promise<void> {
  await administer(async (client) => {
    const found = await client.query(`select datname from pg_database where starts_with(datname, '${prefix}')`)
    for (const { datname } of found.rows) await client.query(`drop database ${datname} with (force)`)
  })
}

function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL
  if (url === undefined) {
    throw new Error('set TEST_DATABASE_URL, or run through: node scripts/with-postgres.ts COMMAND…')
  }
  return url
}

async function administer(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(serverUrl())
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
