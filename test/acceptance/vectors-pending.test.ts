import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { type AnalysisWorld, startAnalysisWorld } from './analysis-world.ts'
import { documentOf } from './content.ts'
import { fakeVector } from './fake-embedding.ts'
import { codes } from './search-world.ts'

/**
 * While vectors are missing, searches and runs that need them say so, but only to callers who may read their documents.
 */
let world: AnalysisWorld
let forum: { readonly key: string }

const wordsIndexed = () =>
  until('words are indexed', async () => (await world.search.indexing()).pending_documents === 0)

/** The complete answers of every search mode, for a caller who may read the dataset. */
async function answers(key: string, dataset: string): Promise<string[]> {
  const bodies = [
    { mode: 'keyword', query: 'lockword' },
    { mode: 'vector', query_vector: fakeVector('lockword'), datasets: [dataset] },
    { mode: 'hybrid', query: 'lockword', query_vector: fakeVector('lockword') },
    { mode: 'vector', query_vector: fakeVector('lockword'), published_from: '2026-01-01T00:00:00Z' },
  ]
  return Promise.all(bodies.map(async (body) => JSON.stringify(await world.search.search(body, '/v1/search', key))))
}

before(async () => {
  world = await startAnalysisWorld()
  forum = await world.application([{ datasets: ['forum'] }])
  await world.put(
    ...Array.from({ length: 10 }, (_, i) =>
      documentOf(`f-${i}`, { dataset_id: 'forum', body: `Lockword ${i} there.` }),
    ),
    documentOf('news', { body: 'Lockword of the news.' }),
  )
})

suite('vectors that wait', () => {
  test('are told to those who can see the chunks, in vector and hybrid mode, and to nobody else', async () => {
    const own = (await world.application([{ datasets: ['news'], published_from: '2026-01-01T00:00:00Z' }])).key
    const before = await answers(forum.key, 'forum')
    for (const answer of before) assert.deepEqual(JSON.parse(answer).warnings, [])
    world.search.embedding.behaviour = 'hangs'
    await world.search.put(documentOf('late', { body: 'Lockword waits.', published_at: '2026-02-01T00:00:00Z' }))
    await wordsIndexed()
    const [keyword, vector, hybrid, timed] = (await answers(world.key, 'news')).map((answer) => JSON.parse(answer))
    assert.deepEqual([keyword.degraded, codes(keyword)], [false, []])
    for (const found of [vector, hybrid, timed]) {
      assert.deepEqual([found.degraded, codes(found)], [false, ['vectors_pending']], JSON.stringify(found))
      assert.match(found.warnings[0].message, /no vector yet/)
    }
    // Other restrictions hide it too: another dataset, a time, a language.
    assert.deepEqual(await answers(forum.key, 'forum'), before)
    const asked = { mode: 'vector', query_vector: fakeVector('lockword') }
    for (const narrowed of [{ datasets: ['forum'] }, { published_to: '2026-02-01T00:00:00Z' }, { languages: ['de'] }]) {
      assert.deepEqual(codes(await world.search.search({ ...asked, ...narrowed })), [])
    }
    assert.deepEqual(codes(await world.search.search(asked, '/v1/search', own)), ['vectors_pending'])
    const metrics = (await world.server.admin('GET', '/metrics')).text
    assert.doesNotMatch(metrics, /vectors_pending/)
  })

  test('are counted by a run, which says so; when they are made, another run has them', async () => {
    const run = await world.ended((await world.create({ input_scope: { dataset_ids: ['news', 'forum'] } })).run_id)
    assert.equal(run.status, 'succeeded')
    assert.deepEqual(run.input, { chunks: 11, documents: 11, without_vector: 1 })
    assert.deepEqual(run.warnings, [{ code: 'vectors_pending' }])
    const listed = await world.server.consumer(world.key, 'GET', '/v1/analysis/runs')
    assert.deepEqual(listed.body.runs[0], run)
    // A caller who may not see the waiting documents learns nothing about them.
    const other = await world.ended(
      (await world.create({ input_scope: { dataset_ids: ['forum'] } }, forum.key)).run_id,
      forum.key,
    )
    assert.deepEqual([other.input, other.warnings], [{ chunks: 10, documents: 10, without_vector: 0 }, []])

    world.search.embedding.recover()
    await world.search.indexed()
    const created = await world.create({ input_scope: { dataset_ids: ['news', 'forum'] } })
    assert.deepEqual([created.input, created.warnings], [null, []])
    const later = await world.ended(created.run_id)
    assert.deepEqual([later.input, later.warnings], [{ chunks: 12, documents: 12, without_vector: 0 }, []])
    for (const answer of await answers(world.key, 'news')) assert.deepEqual(JSON.parse(answer).warnings, [])
  })

  test('a text that the model refuses is counted by a run too, and is not waited for', async () => {
    world.search.embedding.refuses = /refuseword/
    await world.put(documentOf('bad', { body: 'A refuseword.' }), documentOf('empty', { body: null, title: 'Empty' }))
    const run = await world.ended((await world.create()).run_id)
    assert.deepEqual([run.input, run.warnings], [{ chunks: 2, documents: 2, without_vector: 1 }, []])
    const cut = await world.ended((await world.create({ analysis_type: 'clustering', parameters: undefined })).run_id)
    assert.deepEqual([cut.status, cut.input, cut.warnings], ['failed', null, []])
  })
})
