import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { type AnalysisWorld, type Edge, startAnalysisWorld } from './analysis-world.ts'
import { checkDownload } from './check-download.ts'
import { documentOf } from './content.ts'
import { expectError } from './expect-error.ts'
import { fakeDimensions, fakeProfile, fakeVector } from './fake-embedding.ts'
import { freshFolder } from './harness.ts'

const words = ['tide', 'harbour', 'moon', 'salt', 'rope', 'gull', 'mast', 'anchor', 'storm', 'pilot']

/** A text that follows from a number: some words, with different frequencies. */
const textOf = (i: number): string =>
  words.flatMap((word, at) => Array<string>((i * (at + 3) + at * at) % 4).fill(word)).join(' ') || 'nothing'

const cosine = (a: readonly number[], b: readonly number[]): number => {
  const dot = (left: readonly number[], right: readonly number[]) =>
    left.reduce((sum, value, i) => sum + value * right[i]!, 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

suite('analysis runs', () => {
  let world: AnalysisWorld
  const bodies = new Map<string, string>()

  before(async () => {
    world = await startAnalysisWorld()
    const documents = Array.from({ length: 40 }, (_, i) =>
      documentOf(`a-${i}`, { title: `Title ${i}`, body: textOf(i), language: i % 2 === 0 ? 'en' : 'de' }),
    )
    await world.put(...documents)
    await world.put(
      documentOf('b-1', { dataset_id: 'forum', body: 'tide tide', content_type: 'post' }),
      documentOf('b-2', { dataset_id: 'forum', body: 'tide moon', content_type: 'post' }),
      documentOf('b-3', { dataset_id: 'forum', body: 'moon', content_type: 'article' }),
    )
    const page = await world.server.consumer(world.key, 'GET', '/v1/documents/browse?limit=200')
    const ids = page.body.documents.map((one: { document: { id: string } }) => one.document.id)
    const read = await world.server.consumer(world.key, 'POST', '/v1/documents/batch-get', { document_ids: ids })
    for (const { id, content } of read.body.documents) bodies.set(id, content.body)
  })

  const assertExact = (edges: readonly Edge[], documentIds: readonly string[], k: number): void => {
    const vectors = new Map(documentIds.map((id) => [id, fakeVector(bodies.get(id)!)]))
    const bySource = Map.groupBy(edges, (edge) => edge.source_document_id)
    assert.equal(bySource.size, documentIds.length)
    for (const [source, own] of bySource) {
      assert.deepEqual(
        own.map(({ rank }) => rank),
        own.map((_, i) => i + 1),
      )
      const expected = documentIds
        .filter((id) => id !== source)
        .map((id) => cosine(vectors.get(source)!, vectors.get(id)!))
        .sort((a, b) => b - a)
        .slice(0, k)
      assert.equal(own.length, expected.length)
      for (const [i, edge] of own.entries()) {
        const real = cosine(vectors.get(source)!, vectors.get(edge.target_document_id)!)
        // The service stores vectors as 32-bit numbers.
        assert.ok(Math.abs(edge.similarity - real) < 1e-6, JSON.stringify(edge))
        assert.ok(Math.abs(edge.similarity - expected[i]!) < 1e-6, JSON.stringify(edge))
        const before = own[i - 1]
        if (before === undefined) continue
        assert.ok(
          before.similarity > edge.similarity ||
            (before.similarity === edge.similarity && before.target_subject_id < edge.target_subject_id),
        )
      }
    }
  }

  test('a run is accepted as queued and ends with the exact neighbours of every chunk', async () => {
    const answer = await world.post(world.request({ parameters: { k: 5 } }))
    assert.equal(answer.status, 202, answer.text)
    const created = answer.body
    assert.equal(created.status, 'queued')
    assert.match(created.run_id, /^run_/)
    assert.deepEqual(created.parameters, { k: 5, min_similarity: null })
    assert.deepEqual(created.input_scope, { dataset_ids: ['news'] })
    assert.equal(created.input_cutoff_at, created.created_at)
    assert.equal(Date.parse(created.expires_at) - Date.parse(created.created_at), 30 * 86_400_000)
    assert.equal(created.error, undefined)
    assert.deepEqual([created.started_at, created.completed_at, created.progress], [null, null, 0])

    const run = await world.ended(created.run_id)
    assert.equal(run.status, 'succeeded', JSON.stringify(run))
    assert.equal(run.progress, 1)
    assert.ok(run.created_at <= run.started_at! && run.started_at! <= run.completed_at!)
    const news = [...bodies.keys()].filter((id) => !['tide tide', 'tide moon', 'moon'].includes(bodies.get(id)!))
    const edges = await world.edges(run.run_id)
    assertExact(edges, news, 5)
    assert.deepEqual(Object.keys(edges[0]!), [
      'source_subject_id',
      'target_subject_id',
      'source_document_id',
      'target_document_id',
      'source_version_id',
      'target_version_id',
      'rank',
      'similarity',
    ])
    const [artifact, ...others] = await world.artifacts(run.run_id)
    assert.deepEqual([artifact!.name, others], ['edges', []])
    assert.equal(artifact!.rows, edges.length)
    assert.equal(artifact!.format, 'parquet')
    assert.equal(artifact!.expires_at, run.expires_at)
    const bytes = Buffer.from(await (await world.download(run.run_id, artifact!.artifact_id)).arrayBuffer())
    assert.equal(bytes.length, artifact!.bytes)
    assert.equal(`sha256:${createHash('sha256').update(bytes).digest('hex')}`, artifact!.checksum)
    assert.ok(!bytes.includes('harbour'))
  })

  test('the same input gives the same bytes', async () => {
    const cutoff = new Date().toISOString()
    const checksums: string[] = []
    for (let i = 0; i < 2; i++) {
      const run = await world.ended((await world.create({ input_cutoff_at: cutoff })).run_id)
      checksums.push((await world.artifacts(run.run_id))[0]!.checksum)
    }
    assert.equal(checksums[0], checksums[1])
  })

  test('a cut-off of a clock that is up to a minute ahead is now, a later one is refused', async () => {
    const ahead = (ms: number) => new Date(Date.now() + ms).toISOString()
    for (const ms of [200, 40_000]) {
      const asked = ahead(ms)
      const { input_cutoff_at, created_at } = await world.create({ input_cutoff_at: asked })
      assert.equal(input_cutoff_at, Date.parse(created_at) < Date.parse(asked) ? created_at : asked)
    }
    const answer = await world.post(world.request({ input_cutoff_at: ahead(90_000) }))
    await expectError(world.server, answer, 400, 'invalid_analysis_request')
    assert.deepEqual(answer.body.details, [
      { path: 'input_cutoff_at', message: 'must not be more than 60 seconds in the future' },
    ])
  })

  test('k is 30 unless said otherwise; min_similarity leaves edges out', async () => {
    const edges = await world.graph()
    assert.equal(Math.max(...edges.map(({ rank }) => rank)), 30)
    const near = await world.graph({ parameters: { min_similarity: 0.9 } })
    const expected = edges.filter(({ similarity }) => similarity >= 0.9)
    assert.deepEqual(near, expected)
  })

  test('the scope narrows: datasets, languages, content types, windows', async () => {
    const forum = { dataset_ids: ['forum'] }
    assert.equal((await world.graph({ input_scope: forum })).length, 3 * 2)
    assert.equal((await world.graph({ input_scope: { ...forum, content_types: ['post'] } })).length, 2)
    assert.equal((await world.graph({ input_scope: { ...forum, languages: ['en'] } })).length, 0)
    const subjects = { ...forum, subject_types: ['chunk'], source_platforms: ['rss'] }
    assert.equal((await world.graph({ input_scope: subjects })).length, 6)
    assert.equal((await world.graph({ input_scope: { dataset_ids: ['news'], languages: ['de'] } })).length, 20 * 19)
    const past = { created_to: '2020-01-01T00:00:00Z' }
    assert.equal((await world.graph({ input_scope: { ...forum, ...past } })).length, 0)
    const published = { published_from: '2020-01-01T00:00:00Z' }
    assert.equal((await world.graph({ input_scope: { ...forum, ...published } })).length, 0)
  })

  test('a value that a list has again counts once, and is given back once', async () => {
    const scope = {
      dataset_ids: ['forum'],
      source_platforms: ['rss'],
      languages: ['de', 'en'],
      content_types: ['post', 'article'],
      regions: ['DE'],
      subject_types: ['chunk'],
    }
    const again = Object.fromEntries(Object.entries(scope).map(([name, list]) => [name, [...list, ...list]]))
    const { run_id: id } = await world.create({ input_scope: again })
    assert.deepEqual((await world.ended(id)).input_scope, scope)
  })

  test('what came in after the cut-off is left out: new documents, and new versions of old ones', async () => {
    const scope = { dataset_ids: ['news'], content_types: ['cutoff'] }
    const of = (id: string, body: string) => documentOf(id, { body, content_type: 'cutoff' })
    await world.put(of('c-1', 'tide moon'), of('c-2', 'tide rope'), of('c-3', 'moon rope'))
    const cutoff = new Date().toISOString()
    const first = await world.graph({ input_scope: scope, input_cutoff_at: cutoff })
    await new Promise((resolve) => setTimeout(resolve, 5))
    await world.put(of('c-1', 'storm storm storm'), of('c-4', 'pilot'))
    const again = await world.graph({ input_scope: scope, input_cutoff_at: cutoff })
    assert.deepEqual(again, first)
    const now = await world.graph({ input_scope: scope })
    assert.equal(new Set(now.map((edge) => edge.source_document_id)).size, 4)
    assert.notDeepEqual(
      new Set(now.map((edge) => edge.source_version_id)),
      new Set(first.map((e) => e.source_version_id)),
    )
  })

  test('types that are not executed can be created, and fail with a reason', async () => {
    for (const type of ['clustering', 'deduplication', 'feature_rollup']) {
      const profile = type === 'feature_rollup' ? { embedding_profile_id: undefined } : {}
      const run = await world.ended((await world.create({ analysis_type: type, ...profile })).run_id)
      assert.equal(run.status, 'failed')
      assert.equal(run.error!.code, 'analysis_type_not_executed')
      assert.deepEqual(await world.artifacts(run.run_id), [])
    }
  })

  test('requests that are not valid', async () => {
    const scope = { dataset_ids: ['news'] }
    const bad: Record<string, unknown>[] = [
      { analysis_type: undefined },
      { analysis_type: 'pagerank' },
      { input_scope: undefined },
      { input_scope: {} },
      { input_scope: { dataset_ids: [] } },
      { input_scope: { ...scope, unknown: 1 } },
      { input_scope: { ...scope, subject_types: ['document'] } },
      { input_scope: { ...scope, languages: [] } },
      { input_scope: { ...scope, languages: ['english'] } },
      { input_scope: { ...scope, published_from: 'yesterday' } },
      { input_scope: { ...scope, created_from: '2026-01-02T00:00:00Z', created_to: '2026-01-01T00:00:00Z' } },
      { embedding_profile_id: undefined },
      { embedding_profile_id: '' },
      { parameters: { k: 0 } },
      { parameters: { k: 101 } },
      { parameters: { k: 1.5 } },
      { parameters: { min_similarity: 1.01 } },
      { parameters: { neighbours: 3 } },
      { input_cutoff_at: '2999-01-01T00:00:00Z' },
      { retention_days: 0 },
      { retention_days: 366 },
      { priority: 'high' },
    ]
    for (const changes of bad) {
      await expectError(world.server, await world.post(world.request(changes)), 400, 'invalid_analysis_request')
    }
    const unknown = await world.post(world.request({ embedding_profile_id: 'nobody' }))
    await expectError(world.server, unknown, 400, 'analysis_request_failed')
    await world.server.mustAdmin('PUT', '/admin/v1/embedding-profiles/retired', {
      provider: 'http',
      model: 'retired',
      dimensions: 8,
      status: 'inactive',
    })
    const inactive = await world.post(world.request({ embedding_profile_id: 'retired' }))
    await expectError(world.server, inactive, 400, 'analysis_request_failed')
    const { body: account } = await world.server.consumer(world.key, 'GET', '/v1/account')
    assert.deepEqual(account.embedding_profiles, [{ id: fakeProfile, dimensions: fakeDimensions, is_default: true }])
    const missing = await world.post(world.request({ embedding_profile_id: undefined }))
    for (const { body } of [inactive, missing])
      assert.match(body.message, new RegExp(`active profiles: ${fakeProfile}$`))
    const odd = await world.post(world.request({ input_scope: { ...scope, languages: ['e n!'] } }))
    assert.match(odd.body.message, /^input_scope\.languages\.0 .*ISO 639-1.*"e n!"$/)
    const parameter = await world.server.consumer(world.key, 'GET', '/v1/analysis/runs?size=3')
    await expectError(world.server, parameter, 400, 'invalid_analysis_request')
  })

  test('the runs of the application, newest first, by pages and status', async () => {
    const { key } = await world.application([{ datasets: ['news'] }])
    const made: string[] = []
    for (let i = 0; i < 5; i++) {
      const type = i % 2 === 0 ? 'clustering' : 'knn_graph'
      made.unshift((await world.create({ analysis_type: type, parameters: { k: 1 } }, key)).run_id)
    }
    for (const runId of made) await world.ended(runId, key)
    const list = (query: string) => world.server.consumer(key, 'GET', `/v1/analysis/runs${query}`)
    const idsOf = (body: { runs: { run_id: string }[] }) => body.runs.map(({ run_id }) => run_id)
    const first = (await list('?limit=2')).body
    const second = (await list(`?limit=2&cursor=${first.next_cursor}`)).body
    const third = (await list(`?limit=2&cursor=${second.next_cursor}`)).body
    assert.deepEqual([first, second, third].flatMap(idsOf), made)
    assert.equal(third.next_cursor, undefined)
    assert.equal(idsOf((await list('?status=failed')).body).length, 3)
    assert.equal(idsOf((await list('?status=succeeded')).body).length, 2)
    await expectError(world.server, await list('?status=lost'), 400, 'invalid_analysis_request')
    const moved = await list(`?limit=3&cursor=${first.next_cursor}`)
    await expectError(world.server, moved, 400, 'invalid_analysis_request')
    const foreign = await world.server.consumer(
      world.key,
      'GET',
      `/v1/analysis/runs?limit=2&cursor=${first.next_cursor}`,
    )
    await expectError(world.server, foreign, 400, 'invalid_analysis_request')
  })

  test('a finished run cannot be cancelled', async () => {
    const run = await world.ended((await world.create()).run_id)
    const answer = await world.server.consumer(world.key, 'POST', `/v1/analysis/runs/${run.run_id}/cancel`)
    await expectError(world.server, answer, 409, 'analysis_run_finished')
  })

  test('a file by ranges and tags', async () => {
    const run = await world.ended((await world.create()).run_id)
    await checkDownload(world, run.run_id)
  })

  test('a file that is lost, cut or not a file of its own is an error here, said before any byte is sent', async () => {
    const run = await world.ended((await world.create()).run_id)
    const [artifact] = await world.artifacts(run.run_id)
    const path = join(world.server.dataDir, 'artifacts', `${artifact!.artifact_id}.parquet`)
    const whole = readFileSync(path)
    const elsewhere = join(freshFolder(), 'elsewhere.parquet')
    writeFileSync(elsewhere, whole)
    const spoil: Record<string, () => void> = {
      cut: () => truncateSync(path, whole.length - 1),
      longer: () => appendFileSync(path, 'more than there was'),
      lost: () => rmSync(path),
      'a link': () => symlinkSync(elsewhere, path),
      'a folder': () => mkdirSync(path),
    }
    for (const [how, spoilFile] of Object.entries(spoil)) {
      rmSync(path, { recursive: true, force: true })
      writeFileSync(path, whole)
      if (how === 'a link' || how === 'a folder') rmSync(path)
      spoilFile()
      for (const range of [{}, { range: 'bytes=0-3' }]) {
        const answer = await world.download(run.run_id, artifact!.artifact_id, range)
        const { code, message, request_id } = (await answer.json()) as Record<string, string>
        assert.deepEqual([answer.status, code], [500, 'internal'], how)
        assert.match(message!, /file of this artifact is lost or damaged.*create the run again/)
        assert.equal(answer.headers.get('content-range'), null)
        const logged = () =>
          world.server.logs.find(({ reqId, msg }) => reqId === request_id && msg === 'request failed')
        await until('the log has it', async () => logged() !== undefined)
        assert.equal(logged()!.level, 50)
        assert.match(JSON.stringify(logged()!.err), new RegExp(artifact!.artifact_id))
      }
    }
    rmSync(path, { recursive: true })
    writeFileSync(path, whole)
    assert.equal((await world.download(run.run_id, artifact!.artifact_id)).status, 200)
  })
})
