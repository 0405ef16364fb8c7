import pg from 'pg'

/** Runs statements directly in a database. Returns the rows of the last one. */
export async function inDatabase(url: string, ...statements: string[]): Promise<pg.QueryResult['rows']> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    let rows: pg.QueryResult['rows'] = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}
