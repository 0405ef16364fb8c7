import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshStoreDatabase } from '../../../test/support/fresh-database.ts'
import { insertRows } from '../sql/insert-rows.ts'
import { together } from '../sql/together.ts'
import { type Connection, Connections, plan } from './connections.ts'
import { openPostgresStore } from './open-postgres-store.ts'

async function connected(t: TestContext): Promise<Connection> {
  const { url, remove } = await freshStoreDatabase()
  t.after(remove)
  await (await openPostgresStore(url, 1)).close()
  const connections = new Connections(url, 1)
  const connection = await connections.take()
  t.after(() => {
    connections.release(connection, true)
    return connections.close()
  })
  return connection
}

test('reads by id use one plan with the indexes of ids, even if it was made for an empty table', async (t) => {
  const connection = await connected(t)
  const { client } = connection
  const rows = async (text: string) => (await client.query<string[]>({ text, rowMode: 'array' })).rows.flat()
  const settings = async () =>
    (
      await Promise.all(['plan_cache_mode', 'enable_seqscan', 'enable_hashjoin'].map((one) => rows(`show ${one}`)))
    ).flat()
  const planOf = async () => (await rows("explain (costs off) execute shown ('a', 'b')")).join('\n')
  await client.query(
    'prepare shown as select * from chunk join document using (document_id) where chunk.chunk_id in ($1, $2)',
  )
  assert.deepEqual(await settings(), ['force_custom_plan', 'on', 'on'])
  assert.match(await planOf(), /ANY \('\{a,b\}'/, 'a plan for these ids')

  plan(connection, 'once')
  assert.deepEqual(await settings(), ['force_generic_plan', 'off', 'off'])
  const kept = await planOf()
  assert.match(kept, /\$1/, 'a plan for any ids')
  for (const index of ['chunk_pkey', 'document_pkey']) assert.ok(kept.includes(index))
  assert.doesNotMatch(kept, /Seq Scan|Hash|Merge/)

  plan(connection, 'each time')
  assert.deepEqual(await settings(), ['force_custom_plan', 'on', 'on'])
})

test('rows are pipelined with other statements; if one fails, all are rolled back, and the connection stays usable', async (t) => {
  const connection = await connected(t)
  const { client, db } = connection
  const rows = (...ids: readonly string[]) =>
    ids.map((snapshot_id) => ({ snapshot_id, document_id: 'd', observed_at: 0, score: null, metrics: null }))
  const stored = async () =>
    (await db.selectFrom('snapshot').select('snapshot_id').execute()).map((row) => row.snapshot_id)
  const writing = async (...lists: readonly (readonly string[])[]) => {
    await client.query('begin')
    await together(db, [...lists.map((ids) => () => insertRows(db, 'snapshot', rows(...ids))), stored])
    await client.query('commit')
  }
  for (const lists of [
    [['a', 'b'], ['c', 'c'], ['d', 'e'], ['f']],
    [['g'], ['h', 'g'], ['i']],
  ]) {
    await assert.rejects(writing(...lists), { code: '23505' }, 'the original error, not its consequences')
    await client.query('rollback')
    assert.deepEqual(await stored(), [])
  }
  await writing(['a', 'b'], ['c'], ['d', 'e'])
  assert.deepEqual((await stored()).sort(), ['a', 'b', 'c', 'd', 'e'])
})

test('if pipelined statements fail, the original error is reported, even if its consequence is received first', async (t) => {
  const { client, db } = await connected(t)
  const { promise: consequence, resolve } = Promise.withResolvers<void>()
  await client.query('begin')
  const writing = together(db, [
    () => client.query('select * from nowhere').finally(() => consequence),
    () =>
      db
        .selectFrom('snapshot')
        .selectAll()
        .execute()
        .finally(() => setImmediate(resolve)),
  ])
  await assert.rejects(writing, { code: '42P01' })
  await client.query('rollback')
})

test('the plan setting is sent together with the statement', async (t) => {
  const connection = await connected(t)
  const stream = connection.client.connection.stream as Required<typeof connection.client.connection.stream>
  const write = stream._writev.bind(stream)
  const flights: string[] = []
  t.mock.method(stream, '_writev', (...[parts, done]: Parameters<typeof write>) => {
    flights.push(parts.map(({ chunk }) => String(chunk)).join(''))
    write(parts, done)
  })
  plan(connection, 'once')
  assert.deepEqual(await connection.db.selectFrom('snapshot').select('snapshot_id').execute(), [])
  assert.equal(flights.length, 1)
  assert.match(flights[0]!, /set plan_cache_mode = force_generic_plan.*select "snapshot_id"/s)
})
