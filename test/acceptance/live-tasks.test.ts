import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { wholeFeed } from './content.ts'
import { expectError } from './expect-error.ts'
import type { Answer } from './harness.ts'
import { freshKey, items, type LiveWorld, liveBody, startLiveWorld } from './live-world.ts'

let world: LiveWorld
before(async () => {
  world = await startLiveWorld()
  await world.tasks()
})

suite('leases', () => {
  test('eight collectors at once get every task, each once', async () => {
    const live = await Promise.all(Array.from({ length: 24 }, () => world.start()))
    const keys = await Promise.all(Array.from({ length: 8 }, async () => (await world.server.makeCollector()).key))
    const leased: string[] = []
    await Promise.all(
      keys.map(async (key) => {
        for (let tasks = await world.tasks({ max: 1 }, key); tasks.length > 0; ) {
          for (const { task_id } of tasks) {
            leased.push(task_id)
            assert.equal((await world.task(task_id, 'complete', { status: 'succeeded' }, key)).status, 200)
          }
          tasks = await world.tasks({ max: 1 }, key)
        }
      }),
    )
    assert.deepEqual(leased.sort(), live.map(({ runs }) => runs[0].collection_task_id).sort())
    const listed: string[] = []
    for (let before: string | null = ''; before !== null; ) {
      const { tasks, next_before } = await world.server.mustAdmin(
        'GET',
        `/admin/v1/live/tasks?limit=10${before && `&before=${before}`}`,
      )
      for (const { task_id, status } of tasks) if (leased.includes(task_id)) listed.push(`${task_id} ${status}`)
      before = next_before
    }
    assert.deepEqual(
      listed,
      leased.toReversed().map((id) => `${id} succeeded`),
    )
    const open = (await world.server.mustAdmin('GET', '/admin/v1/live/tasks?unfinished=true')).tasks
    assert.ok(!open.some(({ task_id }: { task_id: string }) => leased.includes(task_id)))
  })

  test('a lease that runs out goes back, and whoever held it has lost it', async () => {
    const live = await world.start()
    const [mine] = await world.tasks({ lease_seconds: 1 })
    const { key: other } = await world.server.makeCollector()
    let theirs: Answer['body']
    await until('the lease is over', async () => {
      ;[theirs] = await world.tasks({}, other)
      return theirs !== undefined
    })
    assert.equal(theirs.task_id, mine.task_id)
    assert.notEqual(theirs.lease_id, mine.lease_id)
    for (const [step, body] of [
      ['documents', { documents: items(1, 'lost') }],
      ['heartbeat', {}],
      ['complete', { status: 'succeeded' }],
    ] as const) {
      await expectError(world.server, await world.task(mine.task_id, step, body), 409, 'task_lease_lost')
    }
    assert.equal((await world.task(mine.task_id, 'complete', { status: 'succeeded' }, other)).status, 200)
    assert.deepEqual((await world.results(live.id)).body.results, [])
  })

  test('two processes with one key are told apart by the id of the lease', async () => {
    await world.start()
    const [first] = await world.tasks({ lease_seconds: 1 })
    let second: Answer['body']
    await until('the lease is over', async () => {
      ;[second] = await world.tasks()
      return second !== undefined
    })
    const under = (lease: string, step: string) => `${step}?lease_id=${lease}`
    const late = await world.task(first.task_id, under(first.lease_id, 'heartbeat'))
    await expectError(world.server, late, 409, 'task_lease_lost')
    assert.equal((await world.task(first.task_id, under(second.lease_id, 'heartbeat'))).status, 200)
    const end = { status: 'failed', error: 'no' }
    assert.equal((await world.task(first.task_id, under(second.lease_id, 'complete'), end)).status, 200)
  })

  test('a heartbeat keeps a lease, never beyond the deadline', async () => {
    const live = await world.start({ deadline_seconds: 20 })
    const [task] = await world.tasks({ lease_seconds: 5 })
    const beat = await world.task(task.task_id, 'heartbeat', { lease_seconds: 900 })
    assert.equal(beat.status, 200, beat.text)
    assert.equal(beat.body.lease_expires_at, live.deadline_at)
    await world.task(task.task_id, 'complete', { status: 'succeeded' })
  })

  test('the same completion again is answered the same, another one is not', async () => {
    await world.start()
    const [task] = await world.tasks()
    const first = await world.task(task.task_id, 'complete', { status: 'succeeded' })
    const again = await world.task(task.task_id, 'complete', { status: 'succeeded' })
    assert.deepEqual([again.status, again.body], [200, first.body])
    await expectError(
      world.server,
      await world.task(task.task_id, 'complete', { status: 'failed' }),
      409,
      'task_closed',
    )
  })

  test('collectors bound to datasets, platforms and kinds get only theirs', async () => {
    const { key: forum } = await world.server.makeCollector({ datasets: ['forum'] })
    assert.deepEqual(await world.tasks({}, forum), [])
    await world.tasks({ platforms: ['other'], resource_kinds: ['video'] })
    const news = await world.start()
    const video = await world.start({ platforms: ['other'], resource_kind: 'video' })
    const refused = await world.ask({ ...liveBody, platforms: ['other'] }, freshKey())
    await expectError(world.server, refused, 503, 'live_query_unavailable')
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.deepEqual(await world.tasks({}, forum), [])
    assert.deepEqual(await world.tasks({ platforms: ['other'], resource_kinds: ['user'] }), [])
    const [film] = await world.tasks({ platforms: ['other'], resource_kinds: ['video', 'user'] })
    assert.equal(film.task_id, video.runs[0].collection_task_id)
    const [task] = await world.tasks()
    assert.equal(task.task_id, news.runs[0].collection_task_id)
    const stranger = await world.task(task.task_id, 'documents', { documents: items(1) }, forum)
    await expectError(world.server, stranger, 409, 'task_lease_lost')
    await world.task(task.task_id, 'complete', { status: 'succeeded' })
  })

  test('wrong requests are refused', async () => {
    for (const body of [{ platforms: [] }, { platforms: 'rss' }, { max: 0 }, { lease_seconds: 0 }, { else: 1 }]) {
      await expectError(world.server, await world.lease(body), 400, 'invalid_request')
    }
    await expectError(world.server, await world.task('task_none', 'heartbeat'), 404, 'task_not_found')
    const complete = await world.task('task_none', 'complete', { status: 'maybe' })
    await expectError(world.server, complete, 400, 'invalid_request')
    const consumer = await world.server.consumer(world.key, 'POST', '/collector/v1/tasks/lease', { platforms: ['rss'] })
    await expectError(world.server, consumer, 401, 'unauthorized')
  })
})

suite('deliveries', () => {
  test('items over the bound are refused one by one, a document counts once, and wrong ones fail alone', async () => {
    const live = await world.start({ max_items_per_platform: 2 })
    const [task] = await world.tasks()
    const [a, b, c] = items(3, 'bound')
    const documents = [a, { external_id: 'empty' }, a, b, { ...c, dataset_id: 'forum' }, c]
    const { body } = await world.task(task.task_id, 'documents', { documents })
    assert.deepEqual(
      body.results.map((one: Answer['body']) => one.outcome ?? one.error.code),
      ['created', 'invalid_document', 'unchanged', 'created', 'invalid_document', 'too_many_items'],
    )
    const nothing = await world.task(task.task_id, 'documents')
    await expectError(world.server, nothing, 400, 'invalid_request')
    const lines = documents.map((one) => JSON.stringify(one)).join('\n')
    const streamed = await world.server.call('POST', `/collector/v1/tasks/${task.task_id}/documents`, {
      headers: { authorization: `Bearer ${world.collector}`, 'content-type': 'application/x-ndjson' },
      body: lines,
    })
    assert.deepEqual(
      streamed.body.results.map((one: Answer['body']) => one.outcome ?? one.error.code),
      ['unchanged', 'invalid_document', 'unchanged', 'unchanged', 'invalid_document', 'too_many_items'],
    )
    await world.task(task.task_id, 'complete', { status: 'succeeded' })
    assert.equal((await world.status(live.id)).runs[0].items, 2)
    const closed = await world.server.call('POST', `/collector/v1/tasks/${task.task_id}/documents`, {
      headers: { authorization: `Bearer ${world.collector}`, 'content-type': 'application/x-ndjson' },
      body: lines,
    })
    await expectError(world.server, closed, 409, 'task_closed')
  })
})

suite('crashes', () => {
  test('kill -9 of the server in the middle: nothing lost, nothing twice, the lease is still good', async () => {
    const live = await world.start({ max_items_per_platform: 40 })
    const [task] = await world.tasks({ lease_seconds: 300 })
    const acknowledged = new Set<string>()
    const deliver = async (from: number): Promise<void> => {
      const documents = items(from + 4, 'crash').slice(from)
      const answer = await world.task(task.task_id, 'documents', { documents })
      for (const one of answer.body.results) acknowledged.add(one.document_id)
    }
    await deliver(0)
    const broken = Array.from({ length: 9 }, (_, i) => deliver(i * 4).catch(() => {}))
    await broken[0]
    await world.server.kill9()
    await Promise.all(broken)
    await world.server.restart()
    assert.equal((await world.status(live.id)).status, 'running')
    for (let from = 0; from < 40; from += 4) await deliver(from)
    assert.equal((await world.task(task.task_id, 'complete', { status: 'succeeded' })).body.items, 40)
    assert.equal(acknowledged.size, 40)
    const { body } = await world.results(live.id, '?limit=100')
    assert.deepEqual(new Set(body.results.map((one: Answer['body']) => one.document_id)), acknowledged)
    assert.equal(body.results.length, 40)
    const { events } = await wholeFeed(world.server, world.key)
    assert.equal(events.filter(({ document_id }) => acknowledged.has(document_id)).length, 40)
  })
})
