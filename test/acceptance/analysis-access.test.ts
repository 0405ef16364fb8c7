import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { type AnalysisWorld, type RunBody, startAnalysisWorld } from './analysis-world.ts'
import { documentOf, wholeFeed } from './content.ts'
import { expectError } from './expect-error.ts'
import { fakeProfile } from './fake-embedding.ts'
import { operate } from './store-surgery.ts'

suite('what an application may analyse', () => {
  let world: AnalysisWorld

  before(async () => {
    world = await startAnalysisWorld()
    const some = (dataset_id: string, platform: string, language: string, region: string) =>
      [1, 2, 3].map((i) =>
        documentOf(`${dataset_id}-${platform}-${language}-${region}-${i}`, {
          dataset_id,
          source_platform: platform,
          language,
          region,
          published_at: `2026-01-0${i}T00:00:00Z`,
          body: `tide ${i} ${language} ${platform}`,
        }),
      )
    await world.put(
      ...some('news', 'rss', 'en', 'gb'),
      ...some('news', 'rss', 'de', 'at'),
      ...some('news', 'blog', 'en', 'us'),
      ...some('forum', 'rss', 'en', 'gb'),
    )
  })

  const sources = async (entitlements: readonly object[], scope: object): Promise<number> => {
    const { key } = await world.application(entitlements)
    return new Set((await world.graph({ input_scope: scope }, key)).map((edge) => edge.source_document_id)).size
  }

  test('analysis must be enabled', async () => {
    const { key } = await world.server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
    await expectError(world.server, await world.post(world.request(), key), 403, 'analysis_forbidden')
  })

  test('while it is off, every route is refused; once it is on again, everything is back', async () => {
    const { key, applicationId } = await world.application([{ datasets: ['news'] }])
    const run = await world.succeeded({}, key)
    const [artifact] = await world.artifacts(run.run_id, key)
    const subscription = world.request({ name: 'Graph', execution_mode: 'scheduled' })
    const made = await world.server.consumer(key, 'POST', '/v1/analysis/subscriptions', subscription)
    assert.equal(made.status, 201, made.text)
    const ids: Record<string, string> = {
      run_id: run.run_id,
      artifact_id: artifact!.artifact_id,
      subscription_id: made.body.subscription_id,
    }
    const { paths } = (await world.server.call('GET', '/openapi.json')).body
    const routes = Object.keys(paths)
      .filter((path) => path.startsWith('/v1/analysis'))
      .flatMap((path) => Object.keys(paths[path]).map((method) => ({ path, method })))
    assert.ok(routes.length >= 12, `${routes.length} routes`)
    const bodies: Record<string, object> = {
      '/v1/analysis/runs': world.request(),
      '/v1/analysis/subscriptions': subscription,
    }
    const ask = (method: string, path: string) =>
      world.server.consumer(
        key,
        method.toUpperCase(),
        path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name]!),
        method === 'post' ? bodies[path] : undefined,
      )
    const readable = routes.filter(({ method }) => method === 'get')
    const readAll = async () => {
      const answers = await Promise.all(readable.map(({ method, path }) => ask(method, path)))
      return answers.map(({ asked, status, text }) => ({
        asked,
        status,
        text: text.replace(/"next_cursor":"[^"]*"/, ''),
      }))
    }
    const before = await readAll()
    for (const { asked, status } of before) assert.equal(status, 200, asked!.path)

    await world.setPolicy(applicationId, { analysis_enabled: false })
    for (const { method, path } of routes) {
      await expectError(world.server, await ask(method, path), 403, 'analysis_forbidden')
      assert.match(paths[path][method].responses['403'].description, /analysis_forbidden/, `${method} ${path}`)
    }
    for (const headers of [{ range: 'bytes=0-3' }, { 'if-none-match': '*' }]) {
      const options = { headers: { ...headers, authorization: `Bearer ${key}` } }
      const file = await world.server.call('GET', world.fileUrl(run.run_id, artifact!.artifact_id).pathname, options)
      await expectError(world.server, file, 403, 'analysis_forbidden')
    }

    await world.setPolicy(applicationId, { analysis_enabled: true })
    assert.deepEqual(await readAll(), before)
  })

  test('a named dataset, platform, language or region outside the entitlements is refused', async () => {
    const entry = { datasets: ['news'], platforms: ['rss'], languages: ['en'], regions: ['gb'] }
    const { key } = await world.application([entry])
    for (const outside of [
      { dataset_ids: ['forum'] },
      { dataset_ids: ['news', 'forum'] },
      { dataset_ids: ['nowhere'] },
      { dataset_ids: ['news'], source_platforms: ['rss', 'blog'] },
      { dataset_ids: ['news'], languages: ['de'] },
      { dataset_ids: ['news'], regions: ['gb', 'us'] },
    ]) {
      const answer = await world.post(world.request({ input_scope: outside }), key)
      await expectError(world.server, answer, 403, 'analysis_forbidden')
    }
    const inside = await world.graph({ input_scope: { dataset_ids: ['news'] } }, key)
    assert.equal(inside.length, 3 * 2)
  })

  test('the body must be readable, because vectors are made from it', async () => {
    const { key } = await world.application([{ datasets: ['news'], fields: ['title'] }])
    await expectError(world.server, await world.post(world.request(), key), 403, 'analysis_forbidden')
    const entries = [
      { datasets: ['news'], platforms: ['rss'], fields: ['title'] },
      { datasets: ['news'], platforms: ['blog'], fields: ['body'] },
    ]
    assert.equal(await sources(entries, { dataset_ids: ['news'] }), 3)
  })

  test('entries are alternatives, and each must match as a whole', async () => {
    const entries = [
      { datasets: ['news'], languages: ['de'] },
      { datasets: ['news'], platforms: ['blog'], published_to: '2026-01-03T00:00:00Z' },
    ]
    assert.equal(await sources(entries, { dataset_ids: ['news'] }), 3 + 2)
    assert.equal(await sources(entries, { dataset_ids: ['news'], languages: ['en'] }), 2)
    const window = { published_from: '2026-01-02T00:00:00Z', published_to: '2026-01-03T00:00:00Z' }
    assert.equal(await sources(entries, { dataset_ids: ['news'], ...window }), 0 + 2 - 0)
  })

  test('the cap on the input: at it the run succeeds, beyond it it fails', async () => {
    const at = await world.application([{ datasets: ['news'] }], { analysis: { max_input_chunks: 9 } })
    assert.equal((await world.graph({}, at.key)).length, 9 * 8)
    const below = await world.application([{ datasets: ['news'] }], { analysis: { max_input_chunks: 8 } })
    const run = await world.ended((await world.create({}, below.key)).run_id, below.key)
    assert.equal(run.status, 'failed')
    assert.equal(run.error!.code, 'input_too_large')
    assert.match(run.error!.message, /8 chunks.*narrow input_scope/)
    const narrowed = { input_scope: { dataset_ids: ['news'], languages: ['de'] } }
    assert.equal((await world.graph(narrowed, below.key)).length, 6)
  })

  test('no unfinished run at all', async () => {
    const { key } = await world.application([{ datasets: ['news'] }], { analysis: { max_concurrent_runs: 0 } })
    await expectError(world.server, await world.post(world.request(), key), 429, 'rate_limit_exceeded')
  })

  test("another application's runs, artifacts and subscriptions are as if they were not there", async () => {
    const run = await world.ended((await world.create()).run_id)
    const [artifact] = await world.artifacts(run.run_id)
    const stranger = (await world.application([{ datasets: ['news', 'forum'] }])).key
    const as = (method: string, path: string) => world.server.consumer(stranger, method, `/v1/analysis/${path}`)
    for (const id of [run.run_id, 'run_00000000000000000000000000', 'nonsense']) {
      await expectError(world.server, await as('GET', `runs/${id}`), 404, 'analysis_not_found')
      await expectError(world.server, await as('POST', `runs/${id}/cancel`), 404, 'analysis_not_found')
      await expectError(world.server, await as('GET', `runs/${id}/artifacts`), 404, 'analysis_not_found')
      const file = await as('GET', `runs/${id}/artifacts/${artifact!.artifact_id}/file`)
      await expectError(world.server, file, 404, 'analysis_artifact_not_found')
    }
    for (const id of ['art_00000000000000000000000000', '..%2F..%2Ftidemark.sqlite']) {
      const path = `/v1/analysis/runs/${run.run_id}/artifacts/${id}/file`
      const answer = await world.server.consumer(world.key, 'GET', path)
      await expectError(world.server, answer, 404, 'analysis_artifact_not_found')
    }
    assert.deepEqual((await as('GET', 'runs')).body, { runs: [] })
  })
})

suite('types of analysis that the policy names', () => {
  let world: AnalysisWorld
  const scope = { dataset_ids: ['news'] }
  const fact = (label_code: string) => ({ kind: 'category', level: 'document', metadata: { label_code } })

  before(async () => {
    world = await startAnalysisWorld()
    const of = (id: string, fields: object) => documentOf(id, { language: 'en', ...fields })
    await world.put(
      of('a', {
        published_at: '2026-01-05T01:00:00Z',
        author: { external_author_id: 'u1', nickname: 'One' },
        tags: ['sea', 'boat'],
        facts: [fact('sports')],
        score: 5,
        metrics: { likes: 1.5 },
      }),
      of('b', {
        published_at: '2026-01-11T23:59:59Z',
        author: { external_author_id: 'u1' },
        tags: ['sea'],
        score: 7,
        metrics: { likes: 2, shares: 1 },
      }),
      of('c', { published_at: '2026-01-12T00:00:00Z', source_platform: 'blog', author: { external_author_id: 'u2' } }),
      of('d', { body: null, title: 'A title alone', source_platform: 'blog' }),
    )
  })

  const rollup = async (
    key: string,
    parameters: object,
    more: object = {},
  ): Promise<{ run: RunBody; rows: Record<string, unknown>[] }> => {
    const request = { analysis_type: 'feature_rollup', embedding_profile_id: undefined, parameters, input_scope: scope }
    const run = await world.succeeded({ ...request, ...more }, key)
    const rows = await world.table<Record<string, unknown>>(run.run_id, 'rollup', key)
    return { run, rows: rows.map((row) => ({ ...row, bucket: (row.bucket as Date | null)?.toISOString() ?? null })) }
  }
  const types = (...names: string[]) => ({ analysis: { types: names } })

  test('a rollup counts documents with or without text, in and out of a bucket, as of the cut-off', async () => {
    const { key, applicationId } = await world.application([{ datasets: ['news'] }], types('feature_rollup'))
    const { run, rows } = await rollup(key, { by: ['platform'], bucket: 'week' })
    assert.deepEqual(run.parameters, { by: ['platform'], bucket: 'week' })
    assert.deepEqual([run.input, run.warnings], [{ chunks: 0, documents: 4, without_vector: 0 }, []])
    assert.equal(run.progress, 1)
    const none = { score_sum: null, score_count: 0, likes_sum: null, likes_count: 0, shares_sum: null, shares_count: 0 }
    const expected = [
      { platform: 'blog', bucket: null, documents: 1, authors: 0, ...none },
      { platform: 'blog', bucket: '2026-01-12T00:00:00.000Z', documents: 1, authors: 1, ...none },
      {
        platform: 'rss',
        bucket: '2026-01-05T00:00:00.000Z',
        documents: 2,
        authors: 1,
        ...{ score_sum: 12, score_count: 2, likes_sum: 3.5, likes_count: 2, shares_sum: 1, shares_count: 1 },
      },
    ]
    assert.deepEqual(rows, expected)

    await world.put(documentOf('b', { language: 'en', score: 100, metrics: { likes: 100 } }))
    const more = { input_cutoff_at: run.input_cutoff_at }
    const again = await rollup(key, { by: ['platform'], bucket: 'week' }, more)
    assert.deepEqual(again.rows, expected)
    const [one, two] = [await world.artifacts(run.run_id, key), await world.artifacts(again.run.run_id, key)]
    assert.equal(one[0]!.checksum, two[0]!.checksum)
    assert.equal((await rollup(key, { by: ['platform'] })).rows[1]!.score_sum, 105)

    // The other types, which the policy does not name.
    const graph = await world.ended((await world.create({}, key)).run_id, key)
    assert.deepEqual([graph.status, graph.error?.code], ['failed', 'analysis_type_not_executed'])
    await world.setPolicy(applicationId, types('feature_rollup', 'knn_graph'))
    await world.graph({}, key)
    await world.setPolicy(applicationId, { analysis: null })
    const request = { analysis_type: 'feature_rollup', embedding_profile_id: undefined }
    await expectError(
      world.server,
      await world.post(world.request({ ...request, parameters: { by: ['platform'] } }), key),
      400,
      'invalid_analysis_request',
    )
  })

  test('duplicates are found in what the application may read, by the earliest published', async () => {
    const story = 'The ferry stays in harbour today because of the storm over the sea and the strong wind'
    const of = (id: string, published_at: string, body: string, more: object = {}) =>
      documentOf(id, { dataset_id: 'forum', published_at: `2026-02-0${published_at}T00:00:00Z`, body, ...more })
    await world.put(
      of('copy', '3', story.toUpperCase().replaceAll(' ', '\n')),
      of('first', '2', story),
      of('near', '4', `${story}, they say`),
      of('hidden', '1', story, { source_platform: 'blog' }),
      of('other', '1', 'A recipe with mussels, butter and lemon'),
    )
    const { key } = await world.application(
      [{ datasets: ['forum'], platforms: ['rss'], fields: ['body'] }],
      types('deduplication'),
    )
    const request = { analysis_type: 'deduplication', input_scope: { dataset_ids: ['forum'] } }
    const run = await world.succeeded({ ...request, parameters: { threshold: 0.9 } }, key)
    assert.deepEqual(run.parameters, { threshold: 0.9 })
    assert.deepEqual(run.input, { chunks: 4, documents: 4, without_vector: 0 })
    const rows = await world.table<Record<string, unknown> & { document_id: string }>(run.run_id, 'groups', key)
    assert.deepEqual(Object.keys(rows[0]!), [
      'group_id',
      'subject_id',
      'document_id',
      'version_id',
      'is_representative',
      'similarity',
      'kind',
    ])
    const names = world.search.namesOf(rows)
    const seen = rows.map((row, i) => [names[i], row.is_representative, row.kind])
    assert.deepEqual(seen[0], ['first', true, 'exact'])
    assert.deepEqual(seen.slice(1).sort(), [
      ['copy', false, 'exact'],
      ['near', false, 'near'],
    ])
    assert.equal(new Set(rows.map((row) => row.group_id)).size, 1)
    const strict = await world.succeeded({ ...request, parameters: { threshold: 1 } }, key)
    assert.equal((await world.table(strict.run_id, 'groups', key)).length, 2)
    const again = await world.succeeded({ ...request, parameters: { threshold: 0.9 } }, key)
    const checksum = async (runId: string) => (await world.artifacts(runId, key))[0]!.checksum
    assert.equal(await checksum(again.run_id), await checksum(run.run_id))
  })

  test('topics are found with their words, and none of a title that may not be read', async () => {
    const topics = [
      'ferry harbour pilot storm anchor mast sailor lighthouse',
      'mussels butter lemon recipe kitchen oven garlic parsley',
    ].map((words) => words.split(' '))
    const documents = Array.from({ length: 16 }, (_, i) => {
      const words = topics[i % 2]!
      return documentOf(`topic-${i}`, {
        dataset_id: 'forum',
        source_platform: 'wire',
        language: 'en',
        title: `Wreckage of ${words[0]}`,
        body: `It was the ${words.filter((_, at) => at !== i >> 1).join(' ')}.`,
        published_at: `2026-03-0${1 + (i % 3)}T00:00:00Z`,
      })
    })
    await world.put(...documents)
    const request = {
      analysis_type: 'clustering',
      input_scope: { dataset_ids: ['forum'], source_platforms: ['wire'] },
    }
    const clustersFor = async (...fields: string[]) => {
      const { key } = await world.application([{ datasets: ['forum'], fields }], types('clustering'))
      const run = await world.succeeded({ ...request, parameters: { min_cluster_size: 4 } }, key)
      assert.deepEqual(run.parameters, { min_cluster_size: 4, resolution: 1 })
      assert.deepEqual(run.input, { chunks: 16, documents: 16, without_vector: 0 })
      const artifacts = await world.artifacts(run.run_id, key)
      assert.deepEqual(
        artifacts.map(({ name }) => name),
        ['assignments', 'clusters'],
      )
      return {
        checksums: artifacts.map(({ checksum }) => checksum),
        assignments: await world.table<Record<string, unknown>>(run.run_id, 'assignments', key),
        clusters: await world.table<Record<string, unknown> & { words: string[] }>(run.run_id, 'clusters', key),
      }
    }
    const { assignments, clusters, checksums } = await clustersFor('title', 'body')
    assert.deepEqual(Object.keys(assignments[0]!), [
      'subject_id',
      'document_id',
      'version_id',
      'cluster_id',
      'strength',
    ])
    assert.deepEqual(
      clusters.map((one) => [one.size, one.documents, one.platforms, one.languages]),
      [8, 8].map((size) => [size, size, { wire: size }, { en: size }]),
    )
    for (const { words } of clusters) {
      const topic = topics.find((own) => own.includes(words[0]!))!
      assert.deepEqual(words.slice(0, 8).sort(), topic.toSorted())
      assert.ok(words.includes('wreckage') && !words.includes('the'))
    }
    const withoutTitles = await clustersFor('body')
    assert.equal(withoutTitles.clusters.length, 2)
    // Titles do not affect where chunks are: the same input gives the same file. They do affect the words.
    assert.equal(withoutTitles.checksums[0], checksums[0])
    assert.notEqual(withoutTitles.checksums[1], checksums[1])
    for (const { words } of withoutTitles.clusters) assert.ok(!words.includes('wreckage'), words.join(' '))
    const { key: titles } = await world.application([{ datasets: ['forum'], fields: ['title'] }], types('clustering'))
    await expectError(world.server, await world.post(world.request(request), titles), 403, 'analysis_forbidden')
  })

  test('what is told apart needs its permission; what is counted is what may be read of each document', async () => {
    const with_ = async (...entries: { platforms?: string[]; fields: string[] }[]) =>
      (
        await world.application(
          entries.map((entry) => ({ datasets: ['news'], ...entry })),
          types('feature_rollup'),
        )
      ).key
    const titles = await with_({ fields: ['title'] })
    const summed = (rows: readonly Record<string, unknown>[]) =>
      rows.map((row) => [row.platform, row.documents, row.authors, row.score_count])
    const bare = await rollup(titles, { by: ['platform'] })
    assert.deepEqual(summed(bare.rows), [
      ['blog', 2, 0, 0],
      ['rss', 2, 0, 0],
    ])
    assert.ok(!Object.keys(bare.rows[0]!).some((name) => name.startsWith('likes')))
    for (const [field, wanted] of [
      ['author', /author or metadata/],
      ['topic', /metadata/],
      ['tag', /metadata/],
      ['classification', /facts/],
    ] as const) {
      const body = world.request({
        analysis_type: 'feature_rollup',
        embedding_profile_id: undefined,
        parameters: { by: ['platform', field] },
      })
      const refused = await world.post(body, titles)
      await expectError(world.server, refused, 403, 'analysis_forbidden')
      assert.match(refused.text, wanted)
    }
    const key = await with_(
      { platforms: ['rss'], fields: ['metadata', 'facts'] },
      { platforms: ['blog'], fields: ['metrics'] },
    )
    // By tag there are only values that the entry with metadata opens.
    const tags = await rollup(key, { by: ['tag', 'classification', 'tag', 'tag', 'classification'] })
    assert.deepEqual(tags.run.parameters, { by: ['tag', 'classification'], bucket: null })
    assert.deepEqual(
      tags.rows.map((row) => [row.tag, row.classification, row.documents, row.authors, row.score_count]),
      [
        ['boat', 'sports', 1, 1, 0],
        ['sea', null, 1, 1, 0],
        ['sea', 'sports', 1, 1, 0],
      ],
    )
    assert.deepEqual(summed((await rollup(key, { by: ['platform'] })).rows), [
      ['blog', 2, 0, 0],
      ['rss', 2, 1, 0],
    ])
  })
})

suite('subscriptions', () => {
  let world: AnalysisWorld
  const request = (changes: Record<string, unknown> = {}) => ({
    name: 'Daily graph',
    analysis_type: 'knn_graph',
    input_scope: { dataset_ids: ['news'], languages: ['en'] },
    execution_mode: 'scheduled',
    embedding_profile_id: fakeProfile,
    ...changes,
  })
  const call = (key: string, method: string, path = '', body?: unknown) =>
    world.server.consumer(key, method, `/v1/analysis/subscriptions${path}`, body)

  before(async () => {
    world = await startAnalysisWorld()
  })

  test('created, listed, paused and resumed', async () => {
    const { key } = await world.application([{ datasets: ['news'] }])
    const made = await call(key, 'POST', '', request({ interval_seconds: 60, artifact_retention_days: 7 }))
    assert.equal(made.status, 201, made.text)
    const { subscription_id: id, created_at, updated_at, ...rest } = made.body
    assert.match(id, /^sub_/)
    assert.equal(created_at, updated_at)
    assert.deepEqual(rest, { ...request(), interval_seconds: 60, artifact_retention_days: 7, status: 'active' })
    assert.deepEqual((await call(key, 'GET')).body, { subscriptions: [made.body] })

    const paused = await call(key, 'POST', `/${id}/pause`)
    assert.deepEqual([paused.status, paused.body.status], [200, 'paused'])
    assert.deepEqual((await call(key, 'POST', `/${id}/pause`)).body, paused.body)
    const resumed = await call(key, 'POST', `/${id}/resume`)
    assert.equal(resumed.body.status, 'active')
    assert.deepEqual((await call(key, 'POST', `/${id}/resume`)).body, resumed.body)

    const runs = await call(key, 'GET', `/${id}/runs`)
    assert.deepEqual(runs.body.runs, [])
    const later = await call(key, 'GET', `/${id}/runs?after=${runs.body.next_cursor}`)
    assert.deepEqual([later.status, later.body.runs], [200, []])
    await expectError(world.server, await call(key, 'GET', `/${id}/runs?after=x`), 400, 'invalid_analysis_subscription')
    assert.deepEqual((await call(key, 'GET', `/${id}/checkpoint`)).body, { subscription_id: id, checkpoint: null })

    const stranger = (await world.application([{ datasets: ['news'] }])).key
    for (const [method, path] of [
      ['POST', 'pause'],
      ['POST', 'resume'],
      ['GET', 'runs'],
      ['GET', 'checkpoint'],
    ] as const) {
      await expectError(world.server, await call(stranger, method, `/${id}/${path}`), 404, 'analysis_not_found')
    }
    assert.deepEqual((await call(stranger, 'GET')).body, { subscriptions: [] })
  })

  test('by pages, newest first', async () => {
    const { key } = await world.application([{ datasets: ['news'] }])
    const ids: string[] = []
    for (const name of ['a', 'b', 'c'])
      ids.unshift((await call(key, 'POST', '', request({ name }))).body.subscription_id)
    const first = (await call(key, 'GET', '?limit=2')).body
    const second = (await call(key, 'GET', `?limit=2&cursor=${first.next_cursor}`)).body
    const seen = [...first.subscriptions, ...second.subscriptions].map((one) => one.subscription_id)
    assert.deepEqual(seen, ids)
    assert.equal(second.next_cursor, undefined)
  })

  test('requests that are not valid', async () => {
    for (const changes of [
      { name: undefined },
      { name: '' },
      { analysis_type: undefined },
      { input_scope: undefined },
      { execution_mode: undefined },
      { execution_mode: 'hourly' },
      { interval_seconds: 59 },
      { artifact_retention_days: 0 },
      { artifact_retention_days: 366 },
      { embedding_profile_id: undefined },
      { unknown: 1 },
    ]) {
      const answer = await call(world.key, 'POST', '', request(changes))
      await expectError(world.server, answer, 400, 'invalid_analysis_subscription')
    }
    const profile = await call(world.key, 'POST', '', request({ embedding_profile_id: 'nobody' }))
    await expectError(world.server, profile, 400, 'analysis_request_failed')
    const outside = await call(world.key, 'POST', '', request({ input_scope: { dataset_ids: ['secret'] } }))
    await expectError(world.server, outside, 403, 'analysis_forbidden')
  })

  test('what is no longer allowed shows in the status, and resuming fails as creating would', async () => {
    const { key, applicationId } = await world.application([{ datasets: ['news'] }])
    const { subscription_id: id } = (await call(key, 'POST', '', request())).body
    const status = async () => (await call(key, 'GET')).body.subscriptions[0].status
    assert.equal(await status(), 'active')
    await world.setEntitlements(applicationId, [{ datasets: ['news'], languages: ['de'] }])
    assert.equal(await status(), 'reconciliation_required')
    await expectError(world.server, await call(key, 'POST', `/${id}/resume`), 403, 'analysis_forbidden')
    assert.equal((await call(key, 'POST', `/${id}/pause`)).status, 200)
    await world.setEntitlements(applicationId, [{ datasets: ['news'] }])
    assert.equal(await status(), 'paused')
    assert.equal((await call(key, 'POST', `/${id}/resume`)).body.status, 'active')
  })

  suite('that start runs: analysis.scheduling', () => {
    let key: string
    let applicationId: string
    const rollup = (changes: Record<string, unknown> = {}) =>
      request({
        analysis_type: 'feature_rollup',
        embedding_profile_id: undefined,
        input_scope: { dataset_ids: ['news'] },
        parameters: { by: ['platform'] },
        ...changes,
      })
    const make = async (body: unknown): Promise<string> => {
      const made = await call(key, 'POST', '', body)
      assert.equal(made.status, 201, made.text)
      return made.body.subscription_id
    }
    /** The next run that has ended, and the cursor after it. */
    const nextRun = async (id: string, after?: string): Promise<{ run: RunBody; cursor: string }> => {
      let page = { runs: [] as RunBody[], next_cursor: '' }
      await until('a run has ended', async () => {
        page = (await call(key, 'GET', `/${id}/runs${after === undefined ? '' : `?after=${after}`}`)).body
        return page.runs.length > 0
      })
      assert.equal(page.runs.length, 1)
      return { run: page.runs[0]!, cursor: page.next_cursor }
    }
    const checkpoint = async (id: string) => (await call(key, 'GET', `/${id}/checkpoint`)).body.checkpoint
    const newestSequence = async () => (await wholeFeed(world.server, key)).events.at(-1)!.sequence
    const scheduling = { analysis: { types: ['feature_rollup', 'clustering'], scheduling: true } }

    before(async () => {
      await world.put(documentOf('s-1'))
      const made = await world.application([{ datasets: ['news'] }], scheduling)
      key = made.key
      applicationId = made.applicationId
    })

    test('on_change: one at once, another when the feed has moved and settled; each is read once, and moves the checkpoint', async () => {
      const id = await make(rollup({ execution_mode: 'on_change', artifact_retention_days: 3 }))
      const first = await nextRun(id)
      const { run } = first
      assert.deepEqual(
        [run.status, run.subscription_id, run.retention_days, run.feed_sequence],
        ['succeeded', id, 3, await newestSequence()],
      )
      assert.deepEqual(await world.read(run.run_id, key), run)
      const reached = { sequence: run.feed_sequence, run_id: run.run_id, completed_at: run.completed_at }
      assert.deepEqual(await checkpoint(id), reached)
      const later = (await call(key, 'GET', `/${id}/runs?after=${first.cursor}`)).body
      assert.deepEqual(later.runs, [])

      await world.put(documentOf('s-2'))
      // As if the half minute in which more changes may come had passed.
      await operate(world.server, 'update event set ingested_at = ingested_at - 30000')
      const second = await nextRun(id, later.next_cursor)
      assert.deepEqual(
        [second.run.status, second.run.input!.documents, second.run.feed_sequence],
        ['succeeded', run.input!.documents + 1, await newestSequence()],
      )
      assert.equal((await checkpoint(id)).run_id, second.run.run_id)
      const [rows] = await world.table<{ documents: bigint }>(second.run.run_id, 'rollup', key)
      assert.equal(Number(rows!.documents), second.run.input!.documents)
    })

    test('scheduled: one at once, another when an interval is over, none while it is paused', async () => {
      const id = await make(rollup({ interval_seconds: 60 }))
      const first = await nextRun(id)
      // As if it had been created so early that an interval ended just after that run.
      const createdAt = Date.parse(first.run.created_at) + 1 - 60_000
      await call(key, 'POST', `/${id}/pause`)
      await operate(
        world.server,
        `update analysis_subscription set created_at = ${createdAt} where subscription_id = '${id}'`,
      )
      const other = await make(rollup({ name: 'Looked at after it' }))
      await nextRun(other)
      assert.deepEqual((await call(key, 'GET', `/${id}/runs?after=${first.cursor}`)).body.runs, [])
      await call(key, 'POST', `/${id}/resume`)
      const second = await nextRun(id, first.cursor)
      assert.ok(second.run.created_at > first.run.created_at)
      assert.equal((await checkpoint(id)).run_id, second.run.run_id)
    })

    test('parameters are those of the type, tested when it starts runs', async () => {
      for (const parameters of [undefined, {}, { by: ['colour'] }, { by: ['platform'], k: 3 }]) {
        const answer = await call(key, 'POST', '', rollup({ parameters }))
        await expectError(world.server, answer, 400, 'invalid_analysis_subscription')
        assert.match(answer.body.details[0].path, /^parameters/)
      }
      const without = await world.application([{ datasets: ['news'] }])
      const made = await call(without.key, 'POST', '', rollup({ parameters: undefined }))
      assert.deepEqual([made.status, made.body.status, 'parameters' in made.body], [201, 'active', false])
      await world.setPolicy(without.applicationId, scheduling)
      const { body } = await call(without.key, 'GET')
      assert.equal(body.subscriptions[0].status, 'reconciliation_required')
    })

    test('a type that is not executed fails as a run of it does, and moves no checkpoint', async () => {
      const id = await make(request({ input_scope: { dataset_ids: ['news'] }, parameters: undefined }))
      const { run } = await nextRun(id)
      assert.deepEqual([run.status, run.error!.code], ['failed', 'analysis_type_not_executed'])
      assert.equal(await checkpoint(id), null)
    })

    test('topics keep their ids from run to run, and cluster_history tells what became of each', async () => {
      const vocabulary = [
        'ferry harbour pilot storm anchor mast sailor lighthouse',
        'mussels butter lemon recipe kitchen oven garlic parsley',
        'vaccine doctor hospital nurse fever clinic patient surgery',
      ].map((words) => words.split(' '))
      const stories = (topic: number) =>
        vocabulary[topic]!.map((word, i) =>
          documentOf(`story-${topic}-${i}`, {
            source_platform: 'wire',
            body: vocabulary[topic]!.filter((other) => other !== word).join(' '),
          }),
        )
      await world.put(...stories(0), ...stories(1))
      const input_scope = { dataset_ids: ['news'], source_platforms: ['wire'] }
      const parameters = { min_cluster_size: 4 }
      const changes = { analysis_type: 'clustering', execution_mode: 'on_change', input_scope, parameters }
      const id = await make(request(changes))
      const first = await nextRun(id)
      const { run_id } = first.run
      interface Told {
        readonly cluster_id: string
        readonly status: string
      }
      const historyOf = (runId: string) => world.table<Told>(runId, 'cluster_history', key)
      const begun = await historyOf(run_id)
      const ids = begun.map(({ cluster_id }) => cluster_id).sort()
      const alone = { run_id, status: 'new', parent_cluster_ids: [], size: 8 }
      assert.deepEqual(
        begun,
        ids.map((cluster_id) => ({ cluster_id, ...alone })),
      )
      assert.equal(new Set(ids).size, 2)

      // Paused until every chunk has its vector, however long that takes.
      await call(key, 'POST', `/${id}/pause`)
      await world.put(...stories(2), ...stories(1).map((one) => ({ ...one, body: `${one.body} again` })))
      await operate(world.server, 'update event set ingested_at = ingested_at - 30000')
      await call(key, 'POST', `/${id}/resume`)
      const second = await nextRun(id, first.cursor)
      assert.deepEqual(second.run.warnings, [])
      const told = (await historyOf(second.run.run_id)).map((row) => [row.status, ids.includes(row.cluster_id)])
      assert.deepEqual(told.toSorted(), [
        ['continued', true],
        ['continued', true],
        ['new', false],
      ])
      const clusters = await world.table<Told>(second.run.run_id, 'clusters', key)
      assert.equal(clusters.filter(({ cluster_id }) => ids.includes(cluster_id)).length, 2)
    })

    test('the policy is shown to the application', async () => {
      const account = await world.server.consumer(key, 'GET', '/v1/account')
      assert.deepEqual(account.body.policy.analysis, scheduling.analysis)
      const shown = await world.server.mustAdmin('GET', `/admin/v1/applications/${applicationId}`)
      assert.deepEqual(shown.policy.analysis, scheduling.analysis)
    })
  })
})
