import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type IndexProgress, Pace } from './pace.ts'

const portion = 250
const storedPerMs = 10

/** A store that takes 10,000 documents a second and an index of a given speed, on a simulated clock. */
class World {
  nowMs = 0
  stored: number
  searchable: number
  searchablePerSecond = 2000
  /** When each portion was stored. The index takes them in order. */
  readonly #waits: { readonly until: number; readonly at: number }[] = []
  longestWaitMs = 0
  readonly pace: Pace

  /** The answer to the question how far the index is. */
  answer: IndexProgress['look'] = async () => ({ stored: this.stored, searchable: Math.floor(this.searchable) })

  constructor({
    stored = 0,
    searchable = stored,
    answer,
  }: Partial<Pick<World, 'stored' | 'searchable' | 'answer'>> = {}) {
    this.stored = stored
    this.searchable = searchable
    if (answer !== undefined) this.answer = answer
    const clock = { now: () => this.nowMs, pause: (ms: number) => this.pass(ms) }
    this.pace = new Pace({ look: () => this.answer() }, clock)
  }

  async pass(ms: number): Promise<void> {
    this.nowMs += ms
    this.searchable = Math.min(this.stored, this.searchable + (ms / 1000) * this.searchablePerSecond)
    while (this.#waits[0] !== undefined && this.#waits[0].until <= this.searchable) {
      this.longestWaitMs = Math.max(this.longestWaitMs, this.nowMs - this.#waits.shift()!.at)
    }
    await setImmediate()
  }

  /** Returns the seconds that storing took. */
  async store(documents: number): Promise<number> {
    const startedMs = this.nowMs
    for (let left = documents; left > 0; left -= portion) {
      await this.pass(portion / storedPerMs)
      this.stored += portion
      this.#waits.push({ until: this.stored, at: this.nowMs })
      await this.pace.after(portion, () => {})
    }
    return (this.nowMs - startedMs) / 1000
  }
}

/** The seconds that storing takes without pauses. */
const unpaced = (documents: number): number => documents / storedPerMs / 1000

suite('the pace of an import', () => {
  test('however many documents come, each is found within half a minute, and the index is never without work', async () => {
    const world = new World()
    const seconds = await world.store(400_000)
    while (world.searchable < world.stored) await world.pass(100)
    assert.ok(world.longestWaitMs < 30_000, `${world.longestWaitMs} ms`)
    assert.ok(world.nowMs / 1000 < 201, `found after ${world.nowMs / 1000} s, stored after ${seconds}`)
  })

  test('before one that is a hundred times as slow as the store lies what came in the first second, and no more', async () => {
    const world = new World()
    world.searchablePerSecond = 100
    await world.store(20_000)
    while (world.searchable < world.stored) await world.pass(100)
    assert.ok(world.longestWaitMs < 110_000, `${world.longestWaitMs} ms`)
  })

  test('documents that the index takes in soon are stored at once', async () => {
    const world = new World()
    assert.equal(await world.store(20_000), unpaced(20_000))
    const fast = new World()
    fast.searchablePerSecond = 9000
    assert.equal(await fast.store(400_000), unpaced(400_000))
  })

  test('an index that becomes slower or faster is kept up with', async () => {
    const world = new World()
    await world.store(100_000)
    world.searchablePerSecond = 200
    await world.store(6_000)
    const startedMs = world.nowMs
    await world.store(2_000)
    const seconds = (world.nowMs - startedMs) / 1000
    assert.ok(seconds > 10, `${seconds} s for what the index takes in 10`)
    world.searchablePerSecond = 20_000
    await world.pass(20_000)
    assert.ok((await world.store(100_000)) < 2 * unpaced(100_000))
  })

  test('an index that never moves is not waited for', async () => {
    const world = new World()
    world.searchablePerSecond = 0
    assert.equal(await world.store(400_000), unpaced(400_000))
  })

  test('an index that stops is waited for for some seconds, and after it resumes only once it has caught up', async () => {
    const world = new World()
    await world.store(100_000)
    world.searchablePerSecond = 0
    assert.ok((await world.store(400_000)) < unpaced(400_000) + 12)
    world.searchablePerSecond = 2000
    assert.equal(await world.store(100_000), unpaced(100_000))
    await world.pass(290_000)
    assert.ok((await world.store(100_000)) > 2 * unpaced(100_000))
  })

  test('an index that is being rebuilt, since before the import or during it, is not waited for', async () => {
    const world = new World({ stored: 1_000_000, searchable: 0 })
    assert.equal(await world.store(200_000), unpaced(200_000))
    const emptied = new World({ stored: 1_000_000 })
    await emptied.store(100_000)
    emptied.searchable = 0
    assert.ok((await emptied.store(200_000)) < unpaced(200_000) + 2)
  })

  test('nothing waits if the progress is unknown, or nobody answers', async () => {
    for (const answer of [
      async () => null,
      () => Promise.reject(new Error('away')),
      () => new Promise<null>(() => {}),
    ]) {
      assert.equal(await new World({ answer }).store(200_000), unpaced(200_000))
    }
  })

  test('an index that stops answering is waited for only for some seconds', async () => {
    const world = new World()
    await world.store(100_000)
    world.answer = () => new Promise(() => {})
    assert.ok((await world.store(200_000)) < unpaced(200_000) + 12)
  })

  test('a pause ends with what is thrown meanwhile', async () => {
    const world = new World()
    await world.store(100_000)
    const ended = world.pace.after(10_000, () => {
      throw new Error('stopped')
    })
    await assert.rejects(ended, /stopped/)
  })
})
