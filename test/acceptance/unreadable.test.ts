import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { FakeEmbedding } from './fake-embedding.ts'
import { FakeReranker } from './fake-reranker.ts'
import { store } from './harness.ts'
import { type SearchWorld, startWorld } from './search-world.ts'
import { AskedWorld } from './unreadable-answers.ts'
import { partReaders, readerNames, vectorOf, worldPairOf } from './unreadable-worlds.ts'

/** SEED=… repeats the worlds of a failed run. */
const seed = Number(process.env.SEED ?? fc.sample(fc.integer(), 1)[0])

/**
 * Values that a caller may not read change nothing that it can see. Two servers get the same content except for values
 * that a reader may not read, and the same requests. Their answers are equal byte for byte, except for ids and current
 * times.
 */
suite(`what may not be read changes nothing (seed ${seed})`, () => {
  const reranker = new FakeReranker()
  let embedding: FakeEmbedding
  let servers: [SearchWorld, SearchWorld]
  let worlds: (readonly [AskedWorld, AskedWorld])[]
  let withDocuments = 0

  before(async () => {
    await reranker.start()
    embedding = await new FakeEmbedding().start()
    embedding.vectorOf = vectorOf
    servers = await Promise.all([startWorld({ embedding }), startWorld({ embedding })])
    worlds = readerNames.map((reader, i) => {
      const pair = worldPairOf(reader, seed + i, reader, `${reader}-closed`)
      return [new AskedWorld(servers[0], pair, 0), new AskedWorld(servers[1], pair, 1)]
    })
    const both = (step: (world: AskedWorld) => Promise<void>) =>
      Promise.all(
        servers.map(async (_, side) => {
          for (const pair of worlds) await step(pair[side]!)
        }),
      )
    await both((world) => world.fill())
    await Promise.all(servers.map((world) => world.indexed()))
    await both((world) => world.learnChunks())
  })
  after(async () => {
    await Promise.all(servers.map(({ server }) => server.stop()))
    await reranker.stop()
    await embedding.stop()
  })

  /** Returns the number of compared answers. */
  async function compare(
    [one, other]: readonly [AskedWorld, AskedWorld],
    kinds: readonly (keyof AskedWorld['kinds'])[],
  ): Promise<number> {
    const answers = [one.answers(kinds), other.answers(kinds)] as const
    let compared = 0
    for (;;) {
      const [mine, others] = await Promise.all([answers[0].next(), answers[1].next()])
      if (mine.done || others.done) {
        assert.deepEqual(others, mine)
        return compared
      }
      const [question, answer] = mine.value
      assert.equal(others.value[0], question)
      if (others.value[1] !== answer) {
        // Parsed for a readable message. The bytes are what counts.
        assert.deepEqual(JSON.parse(others.value[1]), JSON.parse(answer), question)
        assert.fail(`${question}: the same, in another order`)
      }
      compared++
      if (answer.includes(`"${one.name}-`)) withDocuments++
    }
  }

  /**
   * Words and vectors are in the index, whatever the store. Hybrid, which uses both, covers them on the other store.
   */
  const ofIndexAlone = ['keyword', 'vector'] as const
  const kinds = ['hybrid', 'catalog', 'documents', 'feed', 'live', 'analysis'] as const
  for (const [i, reader] of readerNames.entries()) {
    test(`reader of ${reader}`, async () => {
      assert.ok((await compare(worlds[i]!, store === 'sqlite' ? [...ofIndexAlone, ...kinds] : kinds)) > 100)
    })
  }

  test('most answers had something to say', () => assert.ok(withDocuments > 300, `${withDocuments} have documents`))

  const withReranker = async (): Promise<void> => {
    await Promise.all(
      servers.map(({ server }) => server.restart({ ...reranker.env, TIDEMARK_RERANK_TIMEOUT_MS: '60000' })),
    )
    for (const reader of partReaders) await compare(worlds[readerNames.indexOf(reader)]!, ['hybrid'])
    assert.ok(reranker.asked.length > 0)
  }
  // Reranking does not depend on the store.
  if (store === 'sqlite') test('the same with a cross-encoder, which sees what is readable alone', withReranker)
})
