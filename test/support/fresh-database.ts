import pg from 'pg'

/** Databases of the tests are known by their names. */
const prefix = 'tidemark_test_'

let made = 0

/** An empty database of its own on the server of TEST_DATABASE_URL. */
export async function freshDatabase(options = ''): Promise<{ url: string; remove(): Promise<void> }> {
  const name = `${prefix}${process.pid}_${++made}`
  await administer((client) => client.query(`create database ${name} ${options}`))
  const url = new URL(serverUrl())
  url.pathname = `/${name}`
  return { url: url.href, remove: () => administer((client) => client.query(`drop database ${name} with (force)`)) }
}

/**
 * One with a store's tables and nothing in them: copied in half the time that migrations take, where a run has made one to
 * copy; else empty, to be migrated by whoever opens it.
 */
export function freshStoreDatabase(): ReturnType<typeof freshDatabase> {
  const template = process.env.TEST_DATABASE_TEMPLATE
  return freshDatabase(template === undefined ? '' : `template ${template}`)
}

/** What test processes left behind. */
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
