import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf } from './content.ts'
import { fakeVector } from './fake-embedding.ts'
import { startWorld } from './search-world.ts'

test('chunks that an older version forgot are counted by doctor, and made up for at the next start', async () => {
  const world = await startWorld()
  world.embedding.behaviour = 'hangs'
  await world.put(...Array.from({ length: 20 }, (_, i) => documentOf(`f-${i}`, { body: `Sternword ${i}.` })))
  await until('its words are indexed', async () => (await world.indexing()).pending_documents === 0)
  world.embedding.recover()
  world.embedding.behaviour = 'hangs'
  await world.server.kill9()
  const store = new DatabaseSync(join(world.server.dataDir, 'tidemark.sqlite'))
  const { changes } = store.prepare('delete from pending_vector').run()
  store.close()
  assert.ok(changes > 0)
  const sick = (await world.server.tidemark(['doctor'])).stdout
  assert.match(sick, new RegExp(`note +${changes} chunks have no vector and are not queued for one.*\n +do: .*serve`))
  world.embedding.recover()
  await world.server.start()
  await until('the vectors are made', async () => (await world.indexing()).profiles[0].indexed_chunks === 20)
  const near = await world.search({ mode: 'vector', query_vector: fakeVector('Sternword 7.'), limit: 1 })
  assert.deepEqual(world.namesOf(near.results), ['f-7'])
  assert.doesNotMatch((await world.server.tidemark(['doctor'])).stdout, /no vector/)
  assert.ok(world.server.logs.some(({ msg }) => String(msg).includes('missing from the queue')))
  assert.equal(await world.server.stop(), 0)
})
