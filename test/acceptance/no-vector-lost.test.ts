import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { until } from '../support/until.ts'
import { documentOf, type Sent } from './content.ts'
import { FakeEmbedding, fakeVector } from './fake-embedding.ts'
import { freshFolder, startServer, type TestServer, tidemark } from './harness.ts'
import { SearchWorld } from './search-world.ts'

/** On every way into the index, the chunks of a document get their vectors. */
const bodyOf = (name: string): string => `Oarword of ${name} alone.`
const documents = (prefix: string, count: number): Sent[] =>
  Array.from({ length: count }, (_, i) => documentOf(`${prefix}-${i}`, { body: bodyOf(`${prefix}${i}`) }))

/** A file for `tidemark import`. */
function fileOf(sent: readonly Sent[]): string {
  const file = join(freshFolder(), 'documents.ndjson')
  writeFileSync(file, sent.map((one) => `${JSON.stringify(one)}\n`).join(''))
  return file
}

async function run(server: TestServer, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await server.tidemark(args)
  assert.equal(code, 0, stdout + stderr)
  return stdout
}

/**
 * Waits until nothing is pending and every document of the prefix is its own nearest neighbour. If a rebuilt index is
 * taken over, that takes a moment.
 */
async function allFound(world: Pick<SearchWorld, 'server' | 'key'>, prefix: string, count: number): Promise<void> {
  const indexing = () => world.server.mustAdmin('GET', '/admin/v1/indexing')
  await until('nothing waits', async () => (await indexing()).pending_chunks === 0)
  for (let i = 0; i < count; i++) {
    await until(`${prefix}-${i} is found`, async () => {
      const answer = await world.server.consumer(world.key, 'POST', '/v1/search/vector', {
        query_vector: fakeVector(bodyOf(`${prefix}${i}`)),
        limit: 1,
      })
      assert.equal(answer.status, 200, answer.text)
      return answer.body.results[0]?.score > 0.999999
    })
  }
}

/** One instance, from before its first start. Documents arrive in it in one way after the other. */
suite('vectors of documents that come', () => {
  let world: SearchWorld
  const chunks = async (): Promise<number> => (await world.indexing()).indexed_chunks
  /** An index that is taken over gets the vectors made for the previous index a moment later. */
  const haveVectors = (wanted: number): Promise<void> =>
    until(`${wanted} chunks have vectors`, async () => (await world.indexing()).profiles[0].indexed_chunks === wanted)

  test('by import and reindex, before the instance was ever served', async () => {
    const embedding = await new FakeEmbedding().start()
    const dataDir = freshFolder()
    const env = { ...embedding.env, TIDEMARK_LOG_LEVEL: 'warn' }
    const instance = join(freshFolder(), 'instance.yaml')
    writeFileSync(instance, 'datasets:\n  - {dataset_id: news, name: News}\n')
    for (const args of [['apply', instance], ['import', fileOf(documents('e', 20))], ['reindex']]) {
      const { code, stdout, stderr } = await tidemark(args, { dataDir, env })
      assert.equal(code, 0, stdout + stderr)
    }
    const server = await startServer({ dataDir, env })
    const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
    const { key: collector } = await server.makeCollector()
    world = new SearchWorld(server, embedding, key, collector)
    await allFound(world, 'e', 20)
  })

  test('by import into a stopped instance, and first into the index by reindex', async () => {
    const before = await chunks()
    assert.equal(await world.server.stop(), 0)
    await run(world.server, 'import', fileOf(documents('r', 40)))
    assert.match(await run(world.server, 'reindex'), /^40 vectors are still missing/m)
    assert.match(await run(world.server, 'doctor'), /40 vectors behind; no vector was computed in \d+ s/)
    await world.server.start()
    await allFound(world, 'r', 40)
    assert.match(await run(world.server, 'doctor'), new RegExp(`${before + 40} chunks.*up to date`))
  })

  test('with texts of signs alone, and earlier versions: a rebuilt index has them all', async () => {
    const before = await chunks()
    const signs = documentOf('signs', { title: 'Signs', body: '!!! ??? …' })
    const first = documentOf('changed', { body: 'The okapi plays a bassoon.' })
    await world.putIndexed(signs, first)
    // More than one step of the index feeder, so that the second version comes in a later step than the first.
    await world.putIndexed(...documents('between', 70), documentOf('changed', { body: 'Bridge tolls go up.' }))
    const all = await chunks()
    assert.equal(all, before + 73)
    assert.equal(await world.server.stop(), 0)
    await run(world.server, 'reindex')
    await world.server.start()
    const found = await world.search({ query: 'okapi bassoon', include_non_current: true })
    assert.deepEqual(
      found.results.map(({ body }) => body),
      ['The okapi plays a bassoon.'],
    )
    await until('every vector is there', async () => {
      const { indexed_chunks, pending_chunks, profiles } = await world.indexing()
      return indexed_chunks === all && pending_chunks === 0 && profiles[0].indexed_chunks === all
    })
  })

  test('while the embedding endpoint hangs, and a rebuilt index is taken over meanwhile', async () => {
    await world.putIndexed(...documents('a', 20))
    world.embedding.behaviour = 'hangs'
    await world.put(...documents('b', 20))
    await until('its words are indexed', async () => (await world.indexing()).pending_documents === 0)
    // So slow that vectors are made while the index is rebuilt, handed over and taken over.
    world.embedding.delayMs = 300
    world.embedding.recover()
    await run(world.server, 'reindex')
    world.embedding.delayMs = 0
    await allFound(world, 'a', 20)
    await allFound(world, 'b', 20)
  })

  test('with a text that the model refuses: it alone gets none, doctor counts it, and reindex has it tried again', async () => {
    const before = await chunks()
    world.embedding.refuses = /bad2 /
    await world.putIndexed(...documents('bad', 5))
    await haveVectors(before + 4)
    // Doctor checks the index that was handed over last, which is served a moment later.
    const counted = /note +1 chunks have texts that the embedding model refuses/
    await until('doctor counts it', async () => counted.test(await run(world.server, 'doctor')))
    const isTold = () => world.server.logs.some(({ chunks }) => Array.isArray(chunks) && chunks.length === 1)
    await until('the log tells of it', isTold)
    await world.server.restart()
    await until('nothing waits', async () => (await world.indexing()).pending_vectors === 0)
    world.embedding.refuses = null
    await run(world.server, 'reindex')
    await allFound(world, 'bad', 5)
    await haveVectors(before + 5)
    assert.doesNotMatch(await run(world.server, 'doctor'), /refuses/)
  })

  test('before another model became the default, and after', async () => {
    const before = await chunks()
    await world.putIndexed(...documents('c', 20))
    await world.put(documentOf('c-0', { body: 'A second version.' }))
    await world.indexed()
    await world.server.restart({ TIDEMARK_EMBEDDING_MODEL: 'fake/other' })
    await world.put(...documents('d', 20))
    await allFound(world, 'd', 20)
    // Includes earlier versions, because searches and runs can request them. Also includes the vectors made for the
    // index before the rebuilt one, if that is served since the restart.
    const vectorsOf = { 'fake-bag-of-words': before + 21, 'fake-other': before + 41 }
    await until('both have all theirs', async () => {
      const { profiles } = await world.indexing()
      return isDeepStrictEqual(
        Object.fromEntries(profiles.map((one: Record<string, unknown>) => [one.id, one.indexed_chunks])),
        vectorsOf,
      )
    })
    await world.server.restart({ TIDEMARK_EMBEDDING_MODEL: 'fake/bag-of-words' })
    await allFound(world, 'd', 20)
    assert.equal(await world.server.stop(), 0)
  })
})
