import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { FakeEmbedding } from './fake-embedding.ts'
import { FakeReranker } from './fake-reranker.ts'
import { store } from './harness.ts'
import { type SearchWorld, startWorld } from './search-world.ts'
import { AskedWorld } from './unreadable-answers.ts'
import { partReaders, readerNames, vectorOf, worldPairOf } from './unreadable-worlds.ts'

/** SEED=… gives the worlds of a run that failed. */
const seed = Number(process.env.SEED ?? fc.sample(fc.integer(), 1)[0])

/**
 * What a caller may not read changes nothing that it can see. Two servers are given the same, but for what a reader may
 * not read, and are asked the same: they answer the same, byte for byte, ids and the moments of today apart.
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

  /** Returns how many answers were compared. */
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
        // Parsed for the sake of a message that can be read; the bytes are what counts.
        assert.deepEqual(JSON.parse(others.value[1]), JSON.parse(answer), question)
        assert.fail(`${question}: the same, in another order`)
      }
      compared++
      if (answer.includes(`"${one.name}-`)) withDocuments++
    }
  }

  /** Words and vectors are in the index, whatever the store is: there hybrid, which asks for both, shows a page of it. */
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
  // How results are reranked is no matter of the store.
  if (store === 'sqlite') test('the same with a cross-encoder, which sees what is readable alone', withReranker)
})
