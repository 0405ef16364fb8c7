import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { before, suite, test } from 'node:test'
import { documentOf } from '../acceptance/content.ts'
import { FakeEmbedding } from '../acceptance/fake-embedding.ts'
import { builtInModel, startServer, usualModels } from '../acceptance/harness.ts'
import { SearchWorld } from '../acceptance/search-world.ts'
import { assertFires, noPromtool } from '../support/alerts.ts'
import { readScrape } from '../support/scrape.ts'
import { until } from '../support/until.ts'

function processesOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
}

/** With the built-in models: first one of them, then the default ones. */
let world: SearchWorld

before(async () => {
  const server = await startServer({ env: { ...builtInModel, TIDEMARK_LOG_LEVEL: 'warn' } })
  await server.makeDataset('news')
  const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  const { key: collector } = await server.makeCollector()
  world = new SearchWorld(server, new FakeEmbedding(), key, collector)
  await world.put(
    documentOf('bread', {
      language: 'en',
      title: 'Baking',
      body: 'Knead the dough, let it rise, and bake the loaf in a hot oven.',
    }),
    documentOf('stars', {
      language: 'en',
      title: 'Sky',
      body: 'The telescope shows distant galaxies and the moons of Jupiter.',
    }),
    documentOf('court', {
      language: 'en',
      title: 'Law',
      body: 'The judge sentenced the defendant after the jury had its verdict.',
    }),
    documentOf('zh', { language: 'zh', title: '面包', body: '面包师傅每天早上烤面包。' }),
  )
  await world.indexed()
})

suite('the built-in model', () => {
  test('is registered as the active default profile, with its dimensions', async () => {
    const { embedding_profiles } = await world.server.mustAdmin('GET', '/admin/v1/embedding-profiles')
    assert.equal(embedding_profiles.length, 1)
    const [profile] = embedding_profiles
    assert.deepEqual([profile.status, profile.dimensions], ['active', 384])
    const state = await world.indexing()
    assert.deepEqual([state.pending_chunks, state.profiles[0].indexed_chunks], [0, 4])
  })

  test('finds by meaning what shares no word with the query', async () => {
    for (const [query, name] of [
      ['how to make sourdough', 'bread'],
      ['astronomy and planets', 'stars'],
      ['criminal trial', 'court'],
    ] as const) {
      assert.deepEqual(await world.names({ query }), [])
      for (const mode of ['vector', 'hybrid']) {
        const found = await world.search({ query, mode })
        assert.equal(world.namesOf(found.results)[0], name, `${mode} ${query}`)
        assert.equal(found.degraded, false)
      }
    }
  })

  test('in a language that it does not know, words decide', async () => {
    assert.equal((await world.names({ query: '面包师傅', mode: 'hybrid' }))[0], 'zh')
  })

  test('takes any text', async () => {
    for (const query of ['\ud800', '\u0000', '🌊'.repeat(1000), 'a'.repeat(1000), '"', '字'.repeat(1000)]) {
      for (const mode of ['vector', 'hybrid']) {
        const answer = await world.raw({ query, mode })
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.body.degraded, false, query.slice(0, 5))
      }
    }
  })

  test('a caller may send a vector of its dimensions, and of no other', async () => {
    const vector = Array.from({ length: 384 }, (_, i) => Math.sin(i))
    assert.equal((await world.search({ mode: 'vector', query_vector: vector })).results.length, 4)
    assert.equal((await world.raw({ mode: 'vector', query_vector: vector.slice(1) })).status, 400)
  })

  test('its process is killed: searches by meaning are answered by another, and metrics tell', {
    skip: !existsSync('/proc/self/task'),
  }, async (t) => {
    const shown = async () => readScrape((await world.server.admin('GET', '/metrics')).text)
    const [model] = processesOf(world.server.pid)
    const query = { query: 'criminal trial', mode: 'vector' }
    assert.equal((await world.search(query)).degraded, false)
    const quiet = await shown()
    process.kill(model!, 'SIGKILL')
    await until('gone', async () => !processesOf(world.server.pid).includes(model!))
    await until('answered by another', async () => {
      // Other words, because vectors of earlier queries are cached.
      const found = await world.search({ ...query, query: 'verdict of a judge' })
      return !found.degraded && world.namesOf(found.results)[0] === 'court'
    })
    const metrics = await world.server.admin('GET', '/metrics')
    assert.match(metrics.text, /^tidemark_pool_members\{pool="model"\} 1$/m)
    assert.match(metrics.text, /^tidemark_pool_replaced_total\{pool="model"\} 1$/m)
    const after = await shown()
    await t.test('and an alert says so', { skip: noPromtool }, () => assertFires('TidemarkMembersDie', quiet, after))
    assert.equal((await world.server.call('GET', '/readyz')).status, 200)
  })

  test('a document is found by words at once and by meaning soon, after a kill too', async () => {
    await world.put(
      documentOf('ship', { language: 'en', title: 'Sea', body: 'The captain steered the vessel into the port.' }),
    )
    await until('words', async () => (await world.names({ query: 'captain' })).length === 1)
    await world.server.kill9()
    await world.server.start()
    assert.deepEqual(await world.names({ query: 'captain' }), ['ship'])
    await until('meaning', async () => {
      const found = await world.search({ query: 'sailing boat harbour', mode: 'vector' })
      return world.namesOf(found.results)[0] === 'ship'
    })
    await world.indexed()
    assert.equal((await world.indexing()).profiles[0].indexed_chunks, 5)
  })

  test('with nothing set there are two models: the vectors from before answer until the new are there, after a kill too', async () => {
    const german = documentOf('de', {
      language: 'de',
      title: 'Hafen',
      body: 'Der Kapitän steuerte das Schiff in den Hafen.',
    })
    await world.put(german)
    await world.indexed()
    await world.server.restart(usualModels)
    // On a busy machine, loading a model can take longer than a search waits for it.
    await until('answered', async () => {
      const found = await world.search({ query: 'criminal trial', mode: 'vector' })
      return world.namesOf(found.results)[0] === 'court'
    })
    await world.server.kill9()
    await world.server.start()
    await world.indexed()
    const { embedding_profiles } = await world.server.mustAdmin('GET', '/admin/v1/embedding-profiles')
    assert.deepEqual(
      embedding_profiles.map((one: { id: string; default: boolean }) => [one.id, one.default]),
      [
        ['bge-small-en-v1.5', false],
        ['multilingual-e5-small-q4', true],
      ],
    )
    const chunks = new Map(
      (await world.indexing()).profiles.map((one: { id: string; indexed_chunks: number }) => [
        one.id,
        one.indexed_chunks,
      ]),
    )
    assert.equal(chunks.get('multilingual-e5-small-q4'), 6)
  })

  test('a question in one language finds texts in others, in vector and in hybrid mode', async () => {
    // The English model has made no vector since the start. On a busy machine its loading takes longer than a search.
    await until('both models answer', async () => !(await world.search({ query: 'warm', mode: 'vector' })).degraded)
    for (const [query, names] of [
      ['面包是谁烤的？', ['zh', 'bread']],
      ['法官在陪审团裁决后判了被告什么刑？', ['court']],
      ['Who bakes bread every morning?', ['bread', 'zh']],
      ['Wer hat das Schiff gesteuert?', ['de', 'ship']],
    ] as const) {
      for (const mode of ['vector', 'hybrid']) {
        const found = await world.search({ query, mode })
        assert.equal(found.degraded, false)
        assert.deepEqual(
          world.namesOf(found.results).slice(0, names.length).sort(),
          [...names].sort(),
          `${mode} ${query}`,
        )
      }
    }
  })

  test("texts in English are as near as both models say, and a caller's own vector is of the default one", async () => {
    const { results } = await world.search({ query: 'how to make sourdough', mode: 'vector' })
    assert.equal(world.namesOf(results)[0], 'bread')
    const vector = Array.from({ length: 384 }, (_, i) => Math.sin(i))
    assert.equal((await world.search({ mode: 'vector', query_vector: vector })).results.length, 6)
  })

  test('a document that comes now has vectors of both, one in another language of the one that knows it', async () => {
    const before = await world.indexing()
    await world.put(
      documentOf('rain', { language: 'en', title: 'Rain', body: 'It rained on the hills for a week.' }),
      documentOf('lluvia', { language: 'es', title: 'Lluvia', body: 'Llovió en las colinas durante una semana.' }),
    )
    await world.indexed()
    const after = await world.indexing()
    const of = (state: typeof after, id: string): number =>
      state.profiles.find((one: { id: string }) => one.id === id).indexed_chunks
    assert.equal(of(after, 'multilingual-e5-small-q4') - of(before, 'multilingual-e5-small-q4'), 2)
    assert.equal(of(after, 'bge-small-en-v1.5') - of(before, 'bge-small-en-v1.5'), 1)
  })
})
