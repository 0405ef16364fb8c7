import assert from 'node:assert/strict'
import { afterEach, before, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, send } from './content.ts'
import { expectError } from './expect-error.ts'
import { freshKey, items, type LiveWorld, startLiveWorld } from './live-world.ts'

let world: LiveWorld
const live = { enabled: true, resource_kind: 'content' }
const body = { query: 'harbour', datasets: ['news'], platforms: ['rss'], live }
before(async () => {
  world = await startLiveWorld()
  // Two documents, so that a page of one has a next page.
  const titles = ['The old harbour', 'The harbour as it was']
  await send(
    world.server,
    world.collector,
    titles.map((title, i) => documentOf(`old-${i}`, { title })),
  )
  await until('the documents are indexed', async () => {
    const { body: found } = await world.server.consumer(world.key, 'POST', '/v1/search', { query: 'harbour' })
    return found.total === titles.length
  })
  // A collector counts as present after a poll.
  await world.tasks()
})
/** Takes the remaining tasks of a test, so that the next test does not get them. */
afterEach(() => world.tasks())

test('a search answers from the index and with the handle of its live query', async () => {
  for (const path of ['/v1/search', '/v1/contents/search']) {
    const answer = await world.ask(body, freshKey(), world.key, path)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual([answer.body.degraded, answer.body.warnings], [false, []])
    assert.ok(answer.body.results.length > 0)
    assert.ok(answer.body.results.every((one: { origin: string }) => one.origin === 'indexed'))
    const handle = answer.body.live_query
    assert.deepEqual([handle.status, handle.resource_kind, handle.runs.length], ['pending', 'content', 1])
    const [task] = await world.tasks()
    assert.equal(task.task_id, handle.runs[0].collection_task_id)
    await world.task(task.task_id, 'documents', { documents: items(1, 'fresh') })
    await world.task(task.task_id, 'complete', { status: 'succeeded' })
    const results = await world.results(handle.id)
    assert.deepEqual(
      results.body.results.map((one: { origin: string; title: string }) => [one.origin, one.title]),
      [['live', 'Item 0']],
    )
  }
})

test('the same key gives the same live query, on the next page too; another body is 422', async () => {
  const key = freshKey()
  const first = await world.ask({ ...body, limit: 1 }, key, world.key, '/v1/search')
  const again = await world.ask({ ...body, limit: 1 }, key, world.key, '/v1/contents/search')
  assert.equal(again.body.live_query.id, first.body.live_query.id)
  assert.ok(first.body.cursor !== undefined)
  const next = await world.ask({ ...body, limit: 1, cursor: first.body.cursor }, key, world.key, '/v1/search')
  assert.equal(next.status, 200, next.text)
  assert.equal(next.body.live_query.id, first.body.live_query.id)
  const other = await world.ask({ ...body, limit: 2 }, key, world.key, '/v1/search')
  await expectError(world.server, other, 422, 'idempotency_key_reused')
})

test('a top-up that is switched off is as if it were absent, whatever else it says', async () => {
  for (const live of [{ enabled: false }, { enabled: false, resource_kind: 'post', deadline_seconds: 5 }]) {
    const { status, body: answer } = await world.ask({ query: 'tide', live }, freshKey(), world.key, '/v1/search')
    assert.deepEqual([status, answer.live_query], [200, null])
  }
  const on = await world.ask({ ...body, live: { enabled: true } }, freshKey(), world.key, '/v1/search')
  await expectError(world.server, on, 400, 'invalid_query')
})

test('a vector alone cannot be collected for', async () => {
  const vector = { ...body, query: undefined, mode: 'vector', query_vector: [1, 0] }
  const answer = await world.ask(vector, freshKey(), world.key, '/v1/search')
  await expectError(world.server, answer, 400, 'invalid_query')
})

test('a 429 of live takes nothing from the quota, and a used-up quota starts nothing', async () => {
  const { applicationId, key } = await world.server.makeApplication({
    entitlements: [{ datasets: ['news'] }],
    policy: { daily_quotas: { search: 2 }, live: { enabled: true, max_concurrent: 1 } },
  })
  const search = (idempotencyKey: string) => world.ask(body, idempotencyKey, key, '/v1/search')
  assert.equal((await search('a')).status, 200)
  const many = await Promise.all(Array.from({ length: 5 }, (_, i) => search(`b${i}`)))
  for (const answer of many) await expectError(world.server, answer, 429, 'rate_limit_exceeded')
  assert.equal((await search('a')).status, 200)
  await expectError(world.server, await search('a'), 429, 'quota_exceeded')
  const [task] = await world.tasks()
  await world.task(task.task_id, 'complete', { status: 'succeeded' })
  await expectError(world.server, await search('c'), 429, 'quota_exceeded')
  assert.deepEqual(await world.tasks(), [])
  // The refused request did not use up the key.
  await world.server.mustAdmin('PATCH', `/admin/v1/applications/${applicationId}`, {
    policy: { daily_quotas: { search: 3 } },
  })
  assert.equal((await search('c')).body.live_query.status, 'pending')
})
