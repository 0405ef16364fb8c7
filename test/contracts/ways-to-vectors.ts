import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Embedder } from '../../src/embedding/embedder.ts'
import { EmbeddingError } from '../../src/embedding/embedding-error.ts'
import { completeVectors } from '../../src/indexing/complete-vectors.ts'
import type { SearchIndex } from '../../src/indexing/fed-index.ts'
import { feedIndex } from '../../src/indexing/feed-index.ts'
import { VectorFollower } from '../../src/indexing/follow-vectors.ts'
import type { IndexSource } from '../../src/indexing/index-source.ts'
import { makeVectors } from '../../src/indexing/make-vectors.ts'
import type { ChunkRecord } from '../../src/search/version-chunks.ts'
import { InProcessSegments } from './in-process-segments.ts'
import type { IndexSourceFixture } from './index-source.ts'

/**
 * Documents arrive; processes index them and are stopped at any point; indexes are lost, rebuilt and taken over; models
 * and chunking rules change. After every step each chunk has a vector of the default profile, waits for one, or was
 * refused by the model. When all work is done, every index has every vector, including those of an additional profile.
 */
type Step =
  | { readonly do: 'send'; readonly name: number; readonly body: string | null; readonly language: string | null }
  | { readonly do: 'feed' | 'follow' | 'restart' | 'lose'; readonly process: number }
  | { readonly do: 'feed, killed'; readonly process: number }
  | { readonly do: 'make' }
  | { readonly do: 'make, killed'; readonly before: 'apply' | 'doneWaiting' | 'refuseVectors' }
  | { readonly do: 'rebuild' }
  | { readonly do: 'take over'; readonly process: number; readonly complete: boolean }
  | { readonly do: 'default'; readonly profile: string }
  | { readonly do: 'besides'; readonly languages: readonly string[] | null; readonly made: boolean }
  | { readonly do: 'cut otherwise'; readonly version: number }

const processes = fc.integer({ min: 0, max: 1 })
const language = fc.constantFrom('en', 'de', null)
const body = fc.constantFrom('Some words.', 'Other words!', 'refused text', null)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('send' as const), name: fc.nat(9), body, language }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('feed' as const, 'feed' as const, 'follow' as const),
      process: processes,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'lose' as const), process: processes }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('feed, killed' as const), process: processes }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('make' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('make, killed' as const),
      before: fc.constantFrom('apply' as const, 'doneWaiting' as const, 'refuseVectors' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('rebuild' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('take over' as const), process: processes, complete: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('default' as const), profile: fc.constantFrom('m', 'old') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('besides' as const),
      languages: fc.constantFrom(['en'], ['de', 'en'], null),
      made: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cut otherwise' as const), version: fc.nat(9) }) },
)

const alone = <T>(work: () => Promise<T>): Promise<T> => work()
const { signal } = new AbortController()
const isRefused = (text: string): boolean => text.startsWith('refused')

const embedderOf = (profileId: string): Embedder =>
  ({
    profileId,
    embed: async (texts: readonly string[]) => {
      const textIndexes = texts.flatMap((text, i) => (isRefused(text) ? i : []))
      if (textIndexes.length > 0) throw new EmbeddingError('rejected_text', 'refused', { textIndexes })
      return texts.map((text) => Float32Array.of(text.length, profileId.length, 1))
    },
  }) as unknown as Embedder

/** A process with an index of its own. The first one makes vectors. */
interface Process {
  index: InProcessSegments
  position: number
  follower: VectorFollower
}

class Ways {
  readonly #store: IndexSourceFixture
  readonly #folder = mkdtempSync(join(tmpdir(), 'tidemark-ways-'))
  readonly #processes: Process[]
  #indexes = 0
  #clockMs = Date.UTC(2026, 0)
  #profile = 'm'
  #rebuilt: { index: InProcessSegments; position: number } | null = null
  /** The chunks of each version, and those that the model refuses. */
  readonly #cuts = new Map<string, readonly ChunkRecord[]>()
  readonly #refused = new Set<string>()

  constructor(store: IndexSourceFixture) {
    this.#store = store
    this.#processes = [0, 1].map(() => this.#start(this.#newIndex(), 0))
  }

  async take(now: Step): Promise<void> {
    const { content, operator } = this.#store
    switch (now.do) {
      case 'send': {
        this.#clockMs += 60_000
        const document = {
          datasetId: 'd1',
          platform: 'p',
          externalId: `n-${now.name}`,
          title: 'T',
          body: now.body,
          language: now.language,
        }
        await content.ingest([document], this.#clockMs)
        break
      }
      case 'feed':
        await this.#feed(this.#processes[now.process]!)
        break
      case 'feed, killed':
        await this.#feed(this.#processes[now.process]!, true)
        break
      case 'follow':
        await this.#processes[now.process]!.follower.follow()
        break
      case 'restart': {
        const ended = this.#processes[now.process]!
        ended.index.reopen()
        this.#processes[now.process] = this.#start(ended.index, (await ended.index.health()).position)
        break
      }
      case 'lose': {
        const process = this.#processes[now.process]!
        await process.index.clear()
        process.position = 0
        break
      }
      case 'make':
        await this.#make(this.#source, this.#processes[0]!.index)
        break
      case 'make, killed':
        await this.#killed(now.before)
        break
      case 'rebuild':
        this.#rebuilt ??= { index: this.#newIndex(), position: 0 }
        await this.#feed(this.#rebuilt)
        break
      case 'take over': {
        if (this.#rebuilt === null) return
        const { index, position } = this.#rebuilt
        this.#rebuilt = null
        if (now.complete)
          await completeVectors(this.#source, index, { profileId: this.#profile, languages: null }, null)
        const process = this.#processes[now.process]!
        await process.index.close()
        process.index = index
        process.position = position
        process.follower = this.#follower(index)
        break
      }
      case 'default': {
        this.#profile = now.profile
        const put = { kind: 'profile.put', provider: 'http', dimensions: 3, status: 'active', isDefault: true } as const
        await operator.commit([{ ...put, profileId: now.profile, model: now.profile }], { actor: 'test', at: 0 })
        // The processes restart with the other model.
        this.#startAgain()
        break
      }
      case 'besides': {
        const profiles = now.made ? [{ profileId: 'beside', languages: now.languages }] : []
        await operator.commit([{ kind: 'profiles.make', profiles }], { actor: 'test', at: 0 })
        break
      }
      case 'cut otherwise': {
        const [versionId, chunks] = [...this.#cuts][now.version] ?? []
        if (versionId === undefined) return
        await this.#source.putChunks(chunks!.map((chunk) => ({ ...chunk, chunkId: `${chunk.chunkId}x` })))
        // The processes also restart for other rules.
        this.#startAgain()
      }
    }
  }

  /** Checks every chunk that belongs to a version now. */
  async assertNoneLost(): Promise<void> {
    const { source } = this.#store
    const ids = [...this.#cuts.values()]
      .flat()
      .filter(({ startsAt, endsAt }) => endsAt > startsAt)
      .map(({ chunkId }) => chunkId)
    const made = (await source.vectors(this.#profile, ids)).map(({ chunkId }) => chunkId)
    const known = new Set([...made, ...(await source.stillWaiting(this.#profile, ids))])
    assert.deepEqual(
      ids.filter((id) => !known.has(id) && !this.#refused.has(id)),
      [],
    )
  }

  /** Every process finishes its remaining work. */
  async settle(): Promise<void> {
    for (let busy = true; busy; ) {
      busy = false
      for (const process of this.#processes) {
        busy = (await this.#feed(process)) || busy
        busy = (await process.follower.follow()) || busy
      }
      busy = (await this.#make(this.#source, this.#processes[0]!.index)) || busy
    }
    await this.assertNoneLost()
    // Also for the additional profile. Texts whose language changed wait for it only after they were read again.
    assert.equal((await this.#store.source.vectorGaps()).lost, 0)
    for (const { index } of this.#processes) {
      const request = { profileId: this.#profile, languages: null, after: null, limit: 1000, timeoutMs: 10_000 }
      const page = await index.withoutVector(request)
      assert.ok(page.outcome === 'found')
      // A chunk without a vector has a refused text, or none.
      const lacking = page.chunks.map(({ chunkId }) => chunkId)
      assert.deepEqual(await this.#store.source.vectors(this.#profile, lacking), [])
      assert.deepEqual(await this.#store.source.stillWaiting(this.#profile, lacking), [])
    }
    assert.equal((await this.#store.source.backlog(await this.#store.source.newestRevision())).waitingVectors, 0)
  }

  async close(): Promise<void> {
    for (const { index } of this.#processes) await index.close()
    await this.#rebuilt?.index.close()
    rmSync(this.#folder, { recursive: true })
    await this.#store.close()
  }

  /** The store, with a record of the chunks of each version. */
  get #source(): IndexSource {
    const { source } = this.#store
    return {
      ...source,
      putChunks: async (chunks) => {
        await source.putChunks(chunks)
        for (const [versionId, own] of Map.groupBy(chunks, (chunk) => chunk.versionId)) this.#cuts.set(versionId, own)
      },
      refuseVectors: async (profileId, chunkIds) => {
        const texts = await source.chunkTexts(chunkIds)
        assert.ok(texts.every(({ text }) => isRefused(text)))
        await source.refuseVectors(profileId, chunkIds)
        for (const chunkId of chunkIds) this.#refused.add(chunkId)
      },
    }
  }

  #newIndex(): InProcessSegments {
    const path = join(this.#folder, `${this.#indexes++}.db`)
    return new InProcessSegments({ path, sealChunks: 4, segmentChunks: 16 })
  }

  #start(index: InProcessSegments, position: number): Process {
    return { index, position, follower: this.#follower(index) }
  }

  #startAgain(): void {
    for (const process of this.#processes) process.follower = this.#follower(process.index)
  }

  #follower(index: SearchIndex): VectorFollower {
    return new VectorFollower({ source: this.#source, index, profileId: this.#profile, shared: true, lost: () => {} })
  }

  async #feed(process: { index: SearchIndex; position: number; follower?: VectorFollower }, killed = false) {
    const { index } = process
    const apply: SearchIndex['apply'] = killed
      ? () => Promise.reject(new Error('killed'))
      : (batch) => index.apply(batch)
    const fed = await feedIndex(this.#source, { ...index, apply } as SearchIndex, process.position, 'each').catch(
      () => null,
    )
    if (fed === null) return true
    process.position = fed.position
    process.follower?.fed(fed)
    return fed.documents > 0
  }

  async #make(source: IndexSource, index: SearchIndex): Promise<boolean> {
    let more = false
    for (const { profileId } of await source.activeProfiles()) {
      const { made, refused } = await makeVectors(source, index, embedderOf(profileId), alone, signal)
      if (profileId === this.#profile) this.#processes[0]!.follower.stopAwaiting([...made, ...refused])
      more ||= made.length + refused.length > 0
    }
    return more
  }

  async #killed(before: 'apply' | 'doneWaiting' | 'refuseVectors'): Promise<void> {
    const { index } = this.#processes[0]!
    const die = () => Promise.reject(new Error('killed'))
    const killedIndex = (before === 'apply' ? { apply: die } : { apply: index.apply.bind(index) }) as SearchIndex
    const killedSource = before === 'apply' ? this.#source : { ...this.#source, [before]: die }
    await this.#make(killedSource, killedIndex).catch((error) => assert.equal(error.message, 'killed'))
  }
}

export async function walkTheWays(open: () => Promise<IndexSourceFixture>, runs: number): Promise<void> {
  const profile = { kind: 'profile.put', provider: 'http', dimensions: 3, status: 'active' } as const
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const store = await open()
      await store.operator.commit(
        [
          { kind: 'dataset.put', datasetId: 'd1', name: 'd1', description: null },
          { ...profile, profileId: 'm', model: 'm', isDefault: true },
          { ...profile, profileId: 'beside', model: 'beside' },
        ],
        { actor: 'test', at: 0 },
      )
      const ways = new Ways(store)
      try {
        for (const now of steps) {
          await ways.take(now)
          await ways.assertNoneLost()
        }
        await ways.settle()
      } finally {
        await ways.close()
      }
    }),
    { numRuns: runs, endOnFailure: runs < 20 },
  )
}
