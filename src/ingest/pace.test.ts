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

  /** The progress that the index reports. */
  answer: IndexProgress['read'] = async () => ({ stored: this.stored, searchable: Math.floor(this.searchable) })

  constructor({
    stored = 0,
    searchable = stored,
    answer,
  }: Partial<Pick<World, 'stored' | 'searchable' | 'answer'>> = {}) {
    this.stored = stored
    this.searchable = searchable
    if (answer !== undefined) this.answer = answer
    const clock = { now: () => this.nowMs, pause: (ms: number) => this.pass(ms) }
    this.pace = new Pace({ read: () => this.answer() }, clock)
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
  test('however many documents arrive, each is searchable within half a minute, and the index is never idle', async () => {
    const world = new World()
    const seconds = await world.store(400_000)
    while (world.searchable < world.stored) await world.pass(100)
    assert.ok(world.longestWaitMs < 30_000, `${world.longestWaitMs} ms`)
    assert.ok(world.nowMs / 1000 < 201, `found after ${world.nowMs / 1000} s, stored after ${seconds}`)
  })

  test('an index that is a hundred times slower than the store has a backlog of the first second, and no more', async () => {
    const world = new World()
    world.searchablePerSecond = 100
    await world.store(20_000)
    while (world.searchable < world.stored) await world.pass(100)
    assert.ok(world.longestWaitMs < 110_000, `${world.longestWaitMs} ms`)
  })

  test('documents that the index can take in soon are stored at once', async () => {
    const world = new World()
    assert.equal(await world.store(20_000), unpaced(20_000))
    const fast = new World()
    fast.searchablePerSecond = 9000
    assert.equal(await fast.store(400_000), unpaced(400_000))
  })

  test('the pace follows an index that becomes slower or faster', async () => {
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

  test('the import does not wait for an index that makes no progress', async () => {
    const world = new World()
    world.searchablePerSecond = 0
    assert.equal(await world.store(400_000), unpaced(400_000))
  })

  test('the import waits a few seconds for an index that stops, and paces itself again only after it has caught up', async () => {
    const world = new World()
    await world.store(100_000)
    world.searchablePerSecond = 0
    assert.ok((await world.store(400_000)) < unpaced(400_000) + 12)
    world.searchablePerSecond = 2000
    assert.equal(await world.store(100_000), unpaced(100_000))
    await world.pass(290_000)
    assert.ok((await world.store(100_000)) > 2 * unpaced(100_000))
  })

  test('the import does not wait for an index that is being rebuilt, since before the import or during it', async () => {
    const world = new World({ stored: 1_000_000, searchable: 0 })
    assert.equal(await world.store(200_000), unpaced(200_000))
    const emptied = new World({ stored: 1_000_000 })
    await emptied.store(100_000)
    emptied.searchable = 0
    assert.ok((await emptied.store(200_000)) < unpaced(200_000) + 2)
  })

  test('the import does not wait if the progress is unknown', async () => {
    for (const answer of [
      async () => null,
      () => Promise.reject(new Error('away')),
      () => new Promise<null>(() => {}),
    ]) {
      assert.equal(await new World({ answer }).store(200_000), unpaced(200_000))
    }
  })

  test('the import waits only a few seconds for an index that stops answering', async () => {
    const world = new World()
    await world.store(100_000)
    world.answer = () => new Promise(() => {})
    assert.ok((await world.store(200_000)) < unpaced(200_000) + 12)
  })

  test('an error thrown by the callback ends a pause', async () => {
    const world = new World()
    await world.store(100_000)
    const ended = world.pace.after(10_000, () => {
      throw new Error('stopped')
    })
    await assert.rejects(ended, /stopped/)
  })
})
