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
})

suite('before any collector has asked', () => {
  test('a live query is 503, a search is degraded', async () => {
    const alone = await world.ask(liveBody, freshKey())
    await expectError(world.server, alone, 503, 'live_query_unavailable')
    assert.match(alone.body.message, /no collector has asked for tasks of platform "rss"/)
    assert.match(alone.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    const { query, datasets, platforms } = liveBody
    const search = { query, datasets, platforms, live: { enabled: true, resource_kind: 'content' } }
    for (const path of ['/v1/search', '/v1/contents/search']) {
      const answer = await world.ask(search, freshKey(), world.key, path)
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual([answer.body.degraded, answer.body.live_query], [true, null])
      assert.deepEqual(
        answer.body.warnings.map(({ code }: { code: string }) => code),
        ['live_query_unavailable'],
      )
      assert.match(answer.body.warnings[0].message, /no collector has asked for tasks of platform "rss"/)
    }
  })
})

suite('a live query', () => {
  before(async () => {
    assert.deepEqual(await world.tasks(), [])
  })

  test('goes from pending through running to completed, and its items are results and documents', async () => {
    const live = await world.start({ max_items_per_platform: 5 })
    assert.deepEqual(Object.keys(live).sort(), [
      'completed_at',
      'created_at',
      'deadline_at',
      'id',
      'resource_kind',
      'runs',
      'status',
    ])
    assert.match(live.id, /^lq_/)
    assert.equal(Date.parse(live.deadline_at) - Date.parse(live.created_at), 300_000)
    const [run] = live.runs
    assert.match(run.id, /^lqr_/)
    assert.match(run.collection_task_id, /^task_/)
    assert.deepEqual([live.status, run.status, run.items, run.error], ['pending', 'pending', 0, null])
    await expectError(world.server, await world.results(live.id), 409, 'live_query_results_not_ready')

    const [task] = await world.tasks()
    assert.deepEqual(
      [task.task_id, task.platform, task.dataset_id, task.resource_kind, task.query, task.max_items, task.deadline_at],
      [run.collection_task_id, 'rss', 'news', 'content', 'harbour', 5, live.deadline_at],
    )
    assert.equal((await world.status(live.id)).status, 'running')
    await expectError(world.server, await world.results(live.id), 409, 'live_query_results_not_ready')

    const delivered = await world.task(task.task_id, 'documents', { documents: items(3) })
    assert.deepEqual(
      delivered.body.results.map((one: { outcome: string }) => one.outcome),
      ['created', 'created', 'created'],
    )
    const done = await world.task(task.task_id, 'complete', { status: 'succeeded' })
    assert.deepEqual([done.status, done.body.items], [200, 3])
    const over = await world.status(live.id)
    assert.deepEqual([over.status, over.runs[0].status, over.runs[0].items], ['completed', 'succeeded', 3])
    assert.ok(Date.parse(over.completed_at) >= Date.parse(over.created_at))

    const { body } = await world.results(live.id)
    assert.deepEqual(body.live_query, over)
    assert.deepEqual(
      body.results.map((one: { title: string }) => one.title),
      ['Item 0', 'Item 1', 'Item 2'],
    )
    for (const [i, result] of body.results.entries()) {
      assert.equal(result.document_id, delivered.body.results[i].document_id)
      assert.equal(result.version_id, delivered.body.results[i].version_id)
      assert.deepEqual([result.origin, result.dataset_id, result.source_platform], ['live', 'news', 'rss'])
      assert.match(result.body, /harbour/)
      assert.match(result.best_chunk_id, /^chk_/)
    }
    assert.equal(body.cursor, undefined)
    const { events } = await wholeFeed(world.server, world.key)
    for (const result of body.results) {
      assert.equal(events.filter((event) => event.document_id === result.document_id).length, 1)
    }
  })

  test('the chunk that a result names is the one that search finds', async () => {
    const live = await world.start({ query: 'quayside' })
    const [task] = await world.tasks()
    const body = `${'Nothing of the sort. '.repeat(300)}Here is the quayside. ${'And nothing again. '.repeat(300)}`
    await world.task(task.task_id, 'documents', { documents: [{ external_id: 'long', body }] })
    await world.task(task.task_id, 'complete', { status: 'succeeded' })
    const [result] = (await world.results(live.id)).body.results
    let best = ''
    await until('the document is indexed', async () => {
      const { body: found } = await world.server.consumer(world.key, 'POST', '/v1/search', {
        query: 'quayside',
      })
      const hit = found.results.find((one: { document_id: string }) => one.document_id === result.document_id)
      best = hit?.best_chunk_id
      return hit !== undefined
    })
    assert.equal(best, result.best_chunk_id)
  })

  test('is partial where one platform fails, failed where all do, and tells why', async () => {
    await world.tasks({ platforms: ['rss', 'forum'] })
    const live = await world.start({ platforms: ['rss', 'forum'] })
    const tasks = await world.tasks({ platforms: ['rss', 'forum'] })
    assert.equal(tasks.length, 2)
    await world.task(tasks[0].task_id, 'complete', { status: 'succeeded' })
    assert.equal((await world.status(live.id)).status, 'running')
    await world.task(tasks[1].task_id, 'complete', { status: 'failed', error: { code: 'blocked', message: 'No.' } })
    const over = await world.status(live.id)
    assert.equal(over.status, 'partial')
    assert.deepEqual(over.runs[1].error, { code: 'blocked', message: 'No.' })
    const other = await world.start()
    const [task] = await world.tasks()
    await world.task(task.task_id, 'complete', { status: 'failed', error: 'It is down.' })
    assert.equal((await world.status(other.id)).status, 'failed')
    const results = await world.results(other.id)
    assert.deepEqual([results.status, results.body.results], [200, []])
  })

  test('at its deadline what is not done has timed out; what came before stays', async () => {
    const live = await world.start({ deadline_seconds: 10 })
    const [task] = await world.tasks({ lease_seconds: 900 })
    assert.equal(task.lease_expires_at, live.deadline_at)
    await world.task(task.task_id, 'documents', { documents: items(1, 'early') })
    await until('the deadline', async () => (await world.status(live.id)).status === 'failed')
    const over = await world.status(live.id)
    assert.deepEqual([over.runs[0].status, over.completed_at], ['timed_out', live.deadline_at])
    for (const [step, body] of [
      ['documents', { documents: items(1, 'late') }],
      ['heartbeat', undefined],
      ['complete', { status: 'succeeded' }],
    ] as const) {
      await expectError(world.server, await world.task(task.task_id, step, body), 409, 'task_closed')
    }
    const { body } = await world.results(live.id)
    assert.equal(body.results.length, 1)
  })

  test('results are paged; a cursor belongs to its application, live query and limit', async () => {
    await world.tasks({ platforms: ['rss', 'forum'] })
    const live = await world.start({ platforms: ['rss', 'forum'], max_items_per_platform: 50 })
    for (const task of await world.tasks({ platforms: ['rss', 'forum'] })) {
      const documents = items(task.platform === 'rss' ? 5 : 3, `paged-${task.platform}`)
      await world.task(task.task_id, 'documents', { documents })
      await world.task(task.task_id, 'complete', { status: 'succeeded' })
    }
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page: Answer = await world.results(live.id, `?limit=3${cursor === undefined ? '' : `&cursor=${cursor}`}`)
      assert.equal(page.status, 200, page.text)
      seen.push(...page.body.results.map((one: Answer['body']) => `${one.source_platform} ${one.title}`))
      cursor = page.body.cursor
      if (cursor !== undefined) {
        const other = await world.results(live.id, `?limit=4&cursor=${cursor}`)
        await expectError(world.server, other, 400, 'invalid_query')
      }
    } while (cursor !== undefined)
    assert.equal(new Set(seen).size, 8)
    assert.deepEqual(seen.slice(0, 4), ['rss Item 0', 'forum Item 0', 'rss Item 1', 'forum Item 1'])
    await expectError(world.server, await world.results(live.id, '?limit=101'), 400, 'invalid_query')
    await expectError(world.server, await world.results(live.id, '?else=1'), 400, 'invalid_query')
    await expectError(world.server, await world.results(live.id, '?cursor=abc'), 400, 'invalid_query')
  })

  test('of another application, or unknown, is 404', async () => {
    const live = await world.start()
    const { key } = await world.application()
    for (const id of [live.id, 'lq_none', `${live.id}x`]) {
      for (const path of [`/v1/live-queries/${id}`, `/v1/live-queries/${id}/results`]) {
        await expectError(world.server, await world.server.consumer(key, 'GET', path), 404, 'live_query_not_found')
      }
    }
    await world.tasks()
  })
})

suite('who may ask', () => {
  before(async () => {
    await world.tasks({ platforms: ['rss', 'forum'] })
  })

  test('datasets, platforms and text must be entitled; results show what is entitled now', async () => {
    const { key: titles } = await world.application({}, [{ datasets: ['news'], fields: ['title'], languages: ['en'] }])
    const { key: metrics } = await world.application({}, [{ datasets: ['news'], fields: ['metrics'] }])
    const { key: rss } = await world.application({}, [{ datasets: ['news'], platforms: ['rss'] }])
    const denied = async (body: object, key: string) =>
      expectError(world.server, await world.ask({ ...liveBody, ...body }, freshKey(), key), 403, 'entitlement_denied')
    await denied({ datasets: ['forum'] }, rss)
    await denied({ platforms: ['rss', 'forum'] }, rss)
    await denied({}, metrics)
    const live = await world.start({}, freshKey(), titles)
    const [task] = await world.tasks()
    await world.task(task.task_id, 'documents', {
      documents: [
        {
          external_id: 'language-en',
          language: 'en',
          title: 'English',
          body: 'harbour',
          status: 'unavailable',
          tags: ['sea'],
        },
        { external_id: 'language-de', language: 'de', title: 'Deutsch', body: 'Hafen' },
        { external_id: 'language-none', title: 'None', body: 'harbour' },
      ],
    })
    await world.task(task.task_id, 'complete', { status: 'succeeded' })
    const { body } = await world.results(live.id, '', titles)
    assert.deepEqual(
      body.results.map((one: Answer['body']) => [one.title, one.body, one.status, one.external_id, one.tags]),
      [['English', undefined, 'unavailable', 'language-en', undefined]],
    )
  })

  test('a dataset or platform that is named again counts once', async () => {
    const platforms = ['rss', 'b', 'c', 'd', 'e']
    await world.tasks({ platforms })
    const live = await world.start({ datasets: ['news', 'news'], platforms: [...platforms, 'rss', 'e'] })
    assert.deepEqual(
      live.runs.map(({ platform }: { platform: string }) => platform),
      platforms,
    )
    const search = { ...liveBody, resource_kind: undefined, live: { enabled: true, resource_kind: 'content' } }
    const lists = { datasets: ['news', 'news'], platforms: ['rss', 'b', 'rss', 'c', 'd', 'e'] }
    const answer = await world.ask({ ...search, ...lists }, freshKey(), world.key, '/v1/search')
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.live_query?.runs.length, 5)
    for (const task of await world.tasks({ platforms, max: 100 })) {
      await world.task(task.task_id, 'complete', { status: 'succeeded' })
    }
  })

  test('what is not a live query is 400', async () => {
    const cases: [object, string | null][] = [
      [liveBody, null],
      [liveBody, 'x'.repeat(256)],
      [{ ...liveBody, datasets: [] }, 'k'],
      [{ ...liveBody, datasets: ['news', 'forum'] }, 'k'],
      [{ ...liveBody, platforms: [] }, 'k'],
      [{ ...liveBody, platforms: ['a', 'b', 'c', 'd', 'e', 'f'] }, 'k'],
      [{ ...liveBody, query: '  ' }, 'k'],
      [{ ...liveBody, query: 'x'.repeat(1001) }, 'k'],
      [{ ...liveBody, resource_kind: 'planet' }, 'k'],
      [{ ...liveBody, deadline_seconds: 9 }, 'k'],
      [{ ...liveBody, deadline_seconds: 901 }, 'k'],
      [{ ...liveBody, max_items_per_platform: 0 }, 'k'],
      [{ ...liveBody, max_items_per_platform: 51 }, 'k'],
      [{ ...liveBody, else: 1 }, 'k'],
      [{ ...liveBody, query: undefined }, 'k'],
    ]
    for (const [body, key] of cases) {
      await expectError(world.server, await world.ask(body, key), 400, 'invalid_query')
    }
    const { key: silent } = await world.application()
    await expectError(
      world.server,
      await world.ask({ ...liveBody, max_items_per_platform: 21 }, 'k', silent),
      400,
      'invalid_query',
    )
    const { key: few } = await world.application({ max_items_per_platform: 2 })
    await world.start({}, freshKey(), few)
    const [task] = await world.tasks()
    assert.equal(task.max_items, 2)
    await world.task(task.task_id, 'complete', { status: 'succeeded' })
  })

  test('live that is off is 503, and nobody is told to try again', async () => {
    const { key, applicationId } = await world.application({ enabled: false })
    const off = await world.ask(liveBody, freshKey(), key)
    await expectError(world.server, off, 503, 'live_query_unavailable')
    assert.match(off.body.message, /is off for this application: ask its operator to set live\.enabled/)
    assert.equal(off.headers.get('retry-after'), null)
    const { query, datasets, platforms } = liveBody
    const search = { query, datasets, platforms, live: { enabled: true, resource_kind: 'content' } }
    const { body } = await world.ask(search, freshKey(), key, '/v1/search')
    assert.match(body.warnings[0].message, /ask its operator to set live\.enabled/)
    for (const { message } of [off.body, ...body.warnings]) assert.doesNotMatch(message, /again|retry|later|moment|now/)
    const policy = { live: { enabled: true } }
    await world.server.mustAdmin('PATCH', `/admin/v1/applications/${applicationId}`, { policy })
    assert.equal((await world.ask(liveBody, freshKey(), key)).status, 202)
    await world.tasks({ max: 100 })
  })

  test('over the limits it is 429 with Retry-After, and the first one counts', async () => {
    const { key: one } = await world.application({ max_concurrent: 1 })
    const live = await world.start({}, freshKey(), one)
    await expectError(world.server, await world.ask(liveBody, freshKey(), one), 429, 'rate_limit_exceeded')
    const tasks = await world.tasks()
    for (const task of tasks) await world.task(task.task_id, 'complete', { status: 'succeeded' })
    assert.equal((await world.status(live.id, one)).status, 'completed')
    await world.start({}, freshKey(), one)
    const { key: two } = await world.application({ requests_per_minute: 2 })
    await world.start({}, 'two-1', two)
    await world.start({}, 'two-2', two)
    const third = await world.ask(liveBody, 'two-3', two)
    await expectError(world.server, third, 429, 'rate_limit_exceeded')
    assert.ok(Number(third.headers.get('retry-after')) <= 60)
    assert.equal((await world.ask(liveBody, 'two-2', two)).status, 202)
    await world.tasks({ max: 100 })
  })
})

suite('idempotency keys', () => {
  test('same body same live query, other body 422, another application its own', async () => {
    await world.tasks()
    const key = freshKey()
    const first = await world.start({}, key)
    const { query, resource_kind, platforms, datasets } = liveBody
    const reordered = await world.ask({ resource_kind, platforms, datasets, query }, key)
    assert.deepEqual([reordered.status, reordered.body], [202, first])
    await expectError(world.server, await world.ask({ ...liveBody, query: 'x' }, key), 422, 'idempotency_key_reused')
    const { key: other } = await world.application()
    assert.notEqual((await world.start({}, key, other)).id, first.id)
    await world.server.restart()
    assert.equal((await world.start({}, key)).id, first.id)
    await world.tasks({ max: 100 })
  })

  test('twenty requests at once with one key make one live query and one task', async () => {
    const key = freshKey()
    const made = await Promise.all(Array.from({ length: 20 }, () => world.start({}, key)))
    assert.equal(new Set(made.map(({ id }) => id)).size, 1)
    assert.equal((await world.tasks()).length, 1)
  })
})
