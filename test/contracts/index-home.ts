import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { beforeEach, suite, test } from 'node:test'
import type { SearchIndex } from '../../src/indexing/fed-index.ts'
import type { IndexHome } from '../../src/indexing/index-home.ts'
import { IndexUnderTest, listing, put } from './index-under-test.ts'

/** An empty folder or cluster prefix for indexes. */
export interface IndexHomeFixture {
  /** The same location each time, as each process would open it. The default is rules `one` and instance `a`. */
  home(rules?: string, instance?: string): IndexHome
  /**
   * The arguments of a Node process that feeds the next index of rules `one` and instance `a` forever, and prints each
   * position when it is acknowledged.
   */
  readonly endlessRebuild: readonly string[]
}

/** Every batch adds one document. */
const batchAt = (position: number) => ({ position, changes: [put(`d${position}`, ['word'])] })

async function feed(index: SearchIndex, to: number): Promise<void> {
  for (let position = (await index.health()).position + 1; position <= to; position++) {
    assert.equal((await index.apply(batchAt(position))).outcome, 'applied')
  }
}

/** The position of the index, which is also the number of documents found. */
async function fedTo(index: SearchIndex): Promise<number> {
  const { state, position } = await index.health()
  assert.equal(await index.position(), position)
  const values = position === 0 ? [] : [{ value: 'news', count: position }]
  assert.deepEqual([state, await index.values(listing)], ['ready', { outcome: 'found', values, next: null }])
  assert.equal((await new IndexUnderTest(index).find('word', { limit: 1 })).totalChunks, position)
  return position
}

async function closing<T>(opened: Promise<SearchIndex>, work: (index: SearchIndex) => Promise<T>): Promise<T> {
  const index = await opened
  try {
    return await work(index)
  } finally {
    await index.close()
  }
}

/** The contract of every IndexHome. */
export function checkIndexHome(name: string, makePlace: () => Promise<IndexHomeFixture>): void {
  suite(`index home: ${name}`, () => {
    let place: IndexHomeFixture
    beforeEach(async () => {
      place = await makePlace()
    })

    const served = (rules?: string) => closing(place.home(rules).open(), fedTo)
    const serve = (to: number) => closing(place.home().open(), (index) => feed(index, to))
    const begun = async (rules?: string) => {
      const { index } = await place.home(rules).openNext()
      return closing(Promise.resolve(index), fedTo)
    }

    /** Builds the next index. Returns the function that hands it over. */
    async function build(to: number, rules?: string): Promise<() => Promise<void>> {
      const { index, handOver } = await place.home(rules).openNext()
      await closing(Promise.resolve(index), (next) => feed(next, to))
      return handOver
    }

    test('what is served is empty at first, and is there again when it is opened again', async () => {
      assert.equal(await served(), 0)
      await serve(3)
      assert.equal(await served(), 3)
    })

    test('an index by other rules is not served, and is there for its own version as it was, until it is removed', async () => {
      await serve(3)
      assert.deepEqual(await place.home().otherVersions(), [])
      assert.equal(await served('two'), 0)
      assert.equal(await served('one'), 3)
      const home = place.home('two')
      await closing(home.open(), async (index) => {
        await feed(index, 2)
        const [other, ...more] = await home.otherVersions()
        assert.ok(other !== undefined && other.bytes > 0)
        assert.deepEqual(more, [])
        await home.removeVersion(other.version)
        assert.deepEqual(await home.otherVersions(), [])
        await feed(index, 4)
        assert.equal(await fedTo(index), 4)
      })
      assert.deepEqual(await place.home('two').otherVersions(), [])
      assert.equal(await served('two'), 4)
      assert.equal(await served('one'), 0)
    })

    test('one that takes the place of an index by other rules goes on where it was stopped, and is told of', async () => {
      await serve(3)
      await closing(place.home('two').open(), (index) => feed(index, 2))
      assert.equal((await place.home('two').inspect())?.position, 2)
      assert.equal(await place.home('two').position(), 2)
      assert.equal((await place.home('one').inspect())?.position, 3)
      await serve(5)
      assert.equal(await served('two'), 2)
      assert.equal((await place.home('two').otherVersions()).length, 1)
      assert.equal(await served('one'), 5)
    })

    test('the versions of other instances are nobody else to remove', async () => {
      await serve(3)
      const other = place.home('two', 'b')
      await closing(other.open(), async () => assert.deepEqual(await other.otherVersions(), []))
    })

    test('an index of another instance is not served, not gone on from, not told of, and not taken when handed over', async () => {
      const home = place.home()
      await closing(home.open(), async (index) => {
        await feed(index, 2)
        const other = await place.home('one', 'b').openNext()
        await closing(Promise.resolve(other.index), (next) => feed(next, 5))
        await other.handOver()
        assert.equal(await home.openNewer(), null)
      })
      assert.deepEqual([await place.home().inspect(), await place.home().position()], [null, null])
      assert.equal((await place.home('one', 'b').inspect())?.position, 5)
      assert.equal(await place.home('one', 'b').position(), 5)
      assert.equal(await closing(place.home('one', 'b').open(), fedTo), 5)
      await closing(
        place
          .home('one', 'b')
          .openNext()
          .then(({ index }) => index),
        (next) => feed(next, 4),
      )
      assert.equal(await begun(), 0)
      assert.equal(await served(), 0)
      assert.equal(await closing(place.home('one', 'b').open(), fedTo), 0)
    })

    test('the next one is built beside the served one, which is searched and fed meanwhile', async () => {
      await serve(2)
      await closing(place.home().open(), async (index) => {
        const next = await place.home().openNext()
        await closing(Promise.resolve(next.index), async () => {
          await feed(next.index, 5)
          await feed(index, 3)
          assert.deepEqual([await fedTo(index), await fedTo(next.index)], [3, 5])
        })
      })
      assert.equal(await served(), 3)
    })

    test('the next one can be removed where building it was stopped; the served one stays', async () => {
      await serve(2)
      assert.equal(await place.home().removeNext(), true)
      const next = await place.home().openNext()
      await feed(next.index, 5)
      await next.index.close()
      assert.equal(await place.home().removeNext(), true)
      await assert.rejects(next.handOver(), /run tidemark reindex again/)
      assert.equal(await served(), 2)
      assert.equal(
        await closing(
          place
            .home()
            .openNext()
            .then(({ index }) => index),
          fedTo,
        ),
        0,
      )
    })

    test('a server sees what was handed over, once; it searches the old one until it closes it', async () => {
      const home = place.home()
      const old = await home.open()
      await feed(old, 2)
      const handOver = await build(5)
      assert.equal(await home.openNewer(), null)
      await handOver()
      const newer = await home.openNewer()
      assert.ok(newer !== null)
      assert.equal(await home.openNewer(), null)
      assert.deepEqual([await fedTo(old), await fedTo(newer)], [2, 5])
      await old.close()
      await home.removeOlder()
      await feed(newer, 6)
      assert.equal(await fedTo(newer), 6)
      const again = await build(8)
      await again()
      await closing(
        home.openNewer().then((index) => index ?? assert.fail('the second is not seen')),
        async (newest) => {
          await newer.close()
          await home.removeOlder()
          assert.equal(await fedTo(newest), 8)
        },
      )
      assert.equal(await served(), 8)
    })

    test('what was handed over while nobody was there is served at the next start, and the one after it is empty', async () => {
      await serve(2)
      await (await build(5))()
      assert.equal(await served(), 5)
      assert.equal(await begun(), 0)
    })

    test('a rebuild that was stopped goes on where it was, whoever does', async () => {
      await serve(2)
      await build(4)
      assert.equal(await begun(), 4)
      assert.equal(await served(), 2)
      await (await build(6))()
      assert.equal(await served(), 6)
    })

    test('a rebuild that was begun by other rules is not gone on from, and never served', async () => {
      await serve(2)
      await build(4)
      assert.equal(await begun('two'), 0)
      await build(4)
      assert.equal(await served('two'), 0)
      assert.equal(await begun('two'), 0)
    })

    test('an index by other rules that was handed over is not for those who serve by theirs', async () => {
      const home = place.home()
      await closing(home.open(), async (index) => {
        await feed(index, 2)
        await (await build(5, 'two'))()
        assert.equal(await home.openNewer(), null)
        await feed(index, 3)
        assert.equal(await fedTo(index), 3)
      })
      assert.equal(await served('two'), 5)
    })

    test('a rebuild that was overtaken by another served index is not handed over', async () => {
      await serve(2)
      const handOver = await build(4)
      assert.equal(await closing(place.home('one', 'b').open(), fedTo), 0)
      await assert.rejects(handOver(), /run tidemark reindex again/)
      assert.equal(await closing(place.home('one', 'b').open(), fedTo), 0)
    })

    test('a rebuild that is killed leaves the served one as it was, and is gone on with', async () => {
      await serve(2)
      const acknowledged = await rebuildUntilKilled(place.endlessRebuild)
      assert.equal((await place.home().inspect())?.position, 2)
      const found = await begun()
      // The batch in progress may be there or not. Every acknowledged batch is.
      assert.ok(found === acknowledged || found === acknowledged + 1, `${found} after ${acknowledged}`)
      assert.equal(await served(), 2)
    })

    test('inspecting makes nothing, and tells of the served one whether it is open or not', async () => {
      assert.deepEqual([await place.home().inspect(), await place.home().position()], [null, null])
      assert.deepEqual([await place.home().inspect(), await place.home().position()], [null, null])
      await closing(place.home().open(), async (index) => {
        await feed(index, 3)
        await build(5)
        const open = await place.home().inspect()
        assert.equal(open?.position, 3)
        assert.equal(await place.home().position(), 3)
        assert.equal(open.chunks, (await index.health()).chunks)
        assert.ok(open.bytes > 0)
      })
      assert.equal((await place.home().inspect())?.position, 3)
      assert.equal(await place.home().position(), 3)
    })

    test('what is removed is gone, with what was being built', async () => {
      await place.home().remove()
      await serve(3)
      await build(4)
      assert.equal(await served('two'), 0)
      await place.home().remove()
      assert.deepEqual(await place.home('two').otherVersions(), [])
      assert.equal(await place.home().inspect(), null)
      assert.equal(await begun(), 0)
      assert.equal(await served(), 0)
    })
  })
}

/** Returns the last position that the process acknowledged before it was killed. */
async function rebuildUntilKilled(argv: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...argv], { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  let acknowledged = 0
  for await (const line of createInterface(child.stdout)) {
    acknowledged = Number(line)
    if (acknowledged === 20) child.kill('SIGKILL')
  }
  await closed
  assert.equal(child.signalCode, 'SIGKILL', `it ended by itself: ${child.exitCode}`)
  return acknowledged
}
