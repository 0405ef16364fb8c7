import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../test/support/fresh-database.ts'
import { SharedIndex } from '../../test/support/shared-index.ts'
import { openPostgresStore } from '../storage/postgres/open-postgres-store.ts'

test('one of two processes feeds an index for both; when it ends, the other takes over', async (t) => {
  const { url, remove } = await freshDatabase()
  t.after(remove)
  const [first, second] = [await openPostgresStore(url, 4), await openPostgresStore(url, 4)]
  t.after(() => second.close())
  const all = await SharedIndex.over(second.store)
  t.after(() => all.close())
  const feeding = await all.start(first, (election) => first.elected(election))
  const waiting = await all.start(second, (election) => second.elected(election))
  t.after(() => waiting.indexing.stop())
  await all.send(150)
  await all.untilComplete()
  assert.ok(feeding.batches > 0)
  assert.deepEqual([waiting.batches, waiting.vectors], [0, 0])
  await feeding.indexing.stop()
  await first.close()
  await all.send(100)
  await all.untilComplete()
  assert.ok(waiting.batches > 0)
})
