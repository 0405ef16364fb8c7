import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { TestServer } from './harness.ts'
import { stuckVersion, versionByRules } from './other-version.ts'
import { UpgradeTraffic } from './upgrade-traffic.ts'

interface Upgraded {
  /** Settings of every process. */
  readonly env: () => Promise<Readonly<Record<string, string>>>
  /** Resolves when nothing is left of the index of another version. */
  readonly oldRemoved: (servers: readonly TestServer[]) => Promise<void>
  readonly documents: number
}

/**
 * Processes of a version that cannot use the other version's index replace the processes of that version, one by one.
 */
export function checkRollingUpgrade(
  name: string,
  skip: string | false,
  { env, oldRemoved, documents }: Upgraded,
): void {
  suite(`a rolling upgrade to another index version, ${name}`, { skip }, () => {
    let traffic: UpgradeTraffic
    let servers: TestServer[]
    let older: string
    let newer: string
    before(async () => {
      older = versionByRules('older')
      newer = versionByRules('newer')
      traffic = new UpgradeTraffic(await env())
      servers = [await traffic.begin(older, documents)]
      servers.push(await traffic.start(older))
    })
    after(() => traffic.end())

    /**
     * Starts a new process before it stops an old one. Every second new process gets the data folder of a stopped one.
     */
    async function roll(main: string): Promise<void> {
      const [first, second] = servers as [TestServer, TestServer]
      const third = await traffic.start(main)
      await traffic.stop(first)
      const fourth = await traffic.start(main, first.dataDir)
      await traffic.stop(second)
      servers = [third, fourth]
    }
    const noFault = async () => {
      await traffic.allFound()
      assert.deepEqual(traffic.faults, [])
      assert.ok(traffic.searches.whole > 0)
    }

    test('a new version that never fills its index is never ready, and takes nothing from the old one', async () => {
      const stuck = await traffic.launch(stuckVersion('stuck'))
      const before = traffic.searches.whole
      while (traffic.searches.whole < before + 8) {
        const { status, body } = await stuck.call('GET', '/readyz')
        assert.deepEqual([status, body.checks.index.ok], [503, false])
        await traffic.allFound()
      }
      await traffic.stop(stuck)
      await noFault()
    })

    test('the new ones are ready one after the other, and no moment and no answer lacks anything', async () => {
      await roll(newer)
      await noFault()
    })

    test('the index of the old version is removed when nobody uses it any more', async () => {
      await oldRemoved(servers)
      await noFault()
    })

    test('and back to the old version', async () => {
      await roll(older)
      await oldRemoved(servers)
      await noFault()
    })

    test('one process alone, which is stopped before the new one is started, is ready when it is whole', async () => {
      const [first, second] = servers as [TestServer, TestServer]
      await traffic.stop(first)
      await traffic.pauseWhile(async () => {
        await traffic.stop(second)
        servers = [await traffic.start(newer, second.dataDir)]
      })
      await noFault()
      await oldRemoved(servers)
    })
  })
}
