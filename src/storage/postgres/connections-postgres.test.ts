import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshStoreDatabase } from '../../../test/support/fresh-database.ts'
import { Connections, plan } from './connections.ts'

test('rows by their ids are read by the indexes of ids, by one plan, also where it was made of an empty table', async (t) => {
  const { url, remove } = await freshStoreDatabase()
  t.after(remove)
  const connections = new Connections(url, 1)
  const connection = await connections.take()
  t.after(() => {
    connections.giveBack(connection, true)
    return connections.close()
  })
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
