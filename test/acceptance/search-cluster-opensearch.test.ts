import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { assertFires, noPromtool } from '../support/alerts.ts'
import { CutRelay } from '../support/cut-relay.ts'
import { changingWatermarks, openSearchNodes, withoutOpenSearch } from '../support/opensearch-nodes.ts'
import { readScrape, type Scrape } from '../support/scrape.ts'
import { TlsRelay, testAuthority } from '../support/tls-relay.ts'
import { until } from '../support/until.ts'
import { documentOf } from './content.ts'
import { expectError } from './expect-error.ts'
import { type SearchWorld, startWorld } from './search-world.ts'

/**
 * The search index in a cluster: normal searches, refusals while the cluster is down, and complete results afterwards.
 */
suite('an instance whose search index is in a cluster', {
  skip: openSearchNodes === null ? withoutOpenSearch : false,
}, () => {
  const prefix = `test-${randomBytes(4).toString('hex')}`
  let world: SearchWorld
  let relay: CutRelay
  before(async () => {
    relay = await CutRelay.to(Number(new URL(openSearchNodes![0]!).port))
    const env = {
      TIDEMARK_SEARCH_URL: `http://operator:hushhush@127.0.0.1:${relay.port}`,
      TIDEMARK_SEARCH_PREFIX: prefix,
      TIDEMARK_SEARCH_SHARDS: '2',
    }
    relay.cut()
    world = await startWorld({ env })
  })
  after(async () => {
    const indexes = (await (await fetch(`${openSearchNodes![0]}/${prefix}-*`)).json()) as object
    for (const name of Object.keys(indexes)) await fetch(`${openSearchNodes![0]}/${name}`, { method: 'DELETE' })
  })

  const refuses = async () => {
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      const answer = await world.raw({ query: 'tide', mode })
      await expectError(world.server, answer, 503, 'search_backend_unavailable')
    }
    const ready = await world.server.call('GET', '/readyz')
    assert.equal(ready.status, 503)
    const { ok, detail } = ready.body.checks.index
    assert.equal(ok, false)
    assert.match(detail, /^OpenSearch at 127\.0\.0\.1:\d+ cannot be reached/)
    await expectError(
      world.server,
      await world.server.admin('GET', '/admin/v1/indexing'),
      503,
      'search_backend_unavailable',
    )
  }

  test('the server starts while the cluster is away, takes documents, says why it is not ready, and goes on', async () => {
    await refuses()
    await world.put(
      documentOf('tide', { title: 'Tides', body: 'The tide comes in twice a day.' }),
      documentOf('sand', { title: 'Sand', body: 'Sand is made by waves.' }),
    )
    assert.equal((await world.server.call('GET', '/healthz')).status, 200)
    relay.repair()
    await until('it is ready', async () => (await world.server.call('GET', '/readyz')).status === 200)
    await world.indexed()
  })

  test('all modes find, and say nothing of it', async () => {
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      // A cluster that has just started may take longer for its first searches than their time limit.
      await until(`${mode} finds it`, async () => {
        const { results, degraded, warnings } = await world.search({ query: 'tide', mode })
        return world.namesOf(results)[0] === 'tide' && !degraded && warnings.length === 0
      })
    }
    const ready = await world.server.call('GET', '/readyz')
    assert.equal(ready.status, 200, ready.text)
  })

  test('while the cluster cannot be reached searches are refused, documents are taken, and nothing is lost', async () => {
    relay.cut()
    await refuses()
    await world.put(documentOf('meanwhile', { title: 'Meanwhile', body: 'A wave came meanwhile.' }))
    relay.repair()
    await until('what came meanwhile is found', async () => {
      const answer = await world.raw({ query: 'meanwhile', mode: 'keyword' })
      return answer.status === 200 && answer.body.results.length === 1
    })
    assert.deepEqual(await world.names({ query: 'tide' }), ['tide'])
    assert.ok(!JSON.stringify(world.server.logs).includes('hushhush'), 'a password was logged')
  })

  test('reindex builds beside what is served, and a restart finds it; doctor looks at the cluster', async () => {
    const rebuilt = await world.server.tidemark(['reindex'])
    assert.equal(rebuilt.code, 0, rebuilt.stderr)
    assert.deepEqual((await world.names({ query: 'wave' })).sort(), ['meanwhile', 'sand'])
    await world.server.restart()
    assert.deepEqual((await world.names({ query: 'wave' })).sort(), ['meanwhile', 'sand'])
    const looked = await world.server.tidemark(['doctor'])
    assert.match(looked.stdout, /search index: 3 chunks, \d+ MiB on disk, up to date/)
    relay.cut()
    const unreached = await world.server.tidemark(['doctor'])
    relay.repair()
    assert.equal(unreached.code, 1)
    assert.match(
      unreached.stdout,
      /FAIL +the search cluster cannot be checked: OpenSearch at 127\.0\.0\.1:\d+ cannot be reached/,
    )
    assert.match(unreached.stdout, /ok +datasets: \d/)
    assert.doesNotMatch(unreached.stdout, /store cannot be opened/)
    assert.ok(![looked, unreached, rebuilt].some(({ stdout, stderr }) => `${stdout}${stderr}`.includes('hushhush')))
  })

  test('health and disks of the cluster are measured, and alerts fire', { skip: noPromtool }, async () => {
    const [node] = openSearchNodes!
    const send = async (method: string, path: string, body: object): Promise<void> => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${node}/${path}`, { method, headers, body: JSON.stringify(body) })
      assert.ok(answer.ok, await answer.text())
    }
    const shown = async (isSo: (samples: Scrape['samples']) => boolean): Promise<Scrape> => {
      let found: Scrape | null = null
      await until('the metrics show it', async () => {
        found = readScrape((await world.server.admin('GET', '/metrics')).text)
        return isSo(found.samples)
      })
      return found!
    }
    const isStatus = (status: string) => (samples: Scrape['samples']) =>
      samples.get(`tidemark_cluster_status{status="${status}"}`) === 1
    const quiet = await shown(isStatus('green'))
    assert.ok(quiet.samples.get('tidemark_cluster_nodes')! >= 1)
    assert.ok(quiet.samples.get('tidemark_cluster_shards{state="active"}')! >= 2)

    const other = (replicas: number, nodes: object) => ({
      settings: { number_of_shards: 1, number_of_replicas: replicas, ...nodes },
    })
    await send('PUT', `${prefix}-many-replicas`, other(20, {}))
    await assertFires('TidemarkClusterIsYellow', quiet, await shown(isStatus('yellow')))
    await send(
      'PUT',
      `${prefix}-nowhere?wait_for_active_shards=0`,
      other(0, { 'routing.allocation.require._name': 'none' }),
    )
    await assertFires('TidemarkClusterIsRed', quiet, await shown(isStatus('red')))
    for (const name of ['many-replicas', 'nowhere']) await fetch(`${node}/${prefix}-${name}`, { method: 'DELETE' })

    const disk = 'cluster.routing.allocation.disk'
    const marks = (low: string | null, high: string | null, floodStage: string | null) =>
      send('PUT', '_cluster/settings', {
        transient: {
          // The cluster itself ignores these thresholds.
          [`${disk}.threshold_enabled`]: low === null ? null : false,
          [`${disk}.watermark.low`]: low,
          [`${disk}.watermark.high`]: high,
          [`${disk}.watermark.flood_stage`]: floodStage,
        },
      })
    const isPast = (watermark: string) => (samples: Scrape['samples']) =>
      samples.get(`tidemark_cluster_disks_past_watermark{watermark="${watermark}"}`)! > 0
    await changingWatermarks(async () => {
      const room = await shown((samples) => !isPast('low')(samples))
      try {
        await marks('0.01%', '99.8%', '99.9%')
        await assertFires('TidemarkClusterDiskIsLow', room, await shown(isPast('low')))
        await marks('0.01%', '0.02%', '0.03%')
        await assertFires('TidemarkClusterDiskIsFull', room, await shown(isPast('flood_stage')))
      } finally {
        await marks(null, null, null)
      }
    })
  })

  test('by TLS: an authority of ones own is trusted when it is named, and nobody else is spoken to', async () => {
    const { server } = world
    const tls = await TlsRelay.to(relay.port)
    const secure = { TIDEMARK_SEARCH_URL: `https://operator:hushhush@127.0.0.1:${tls.port}` }
    await server.stop()
    await assert.rejects(server.start(secure), (error: Error) => {
      assert.match(error.message, /OpenSearch at 127\.0\.0\.1:\d+ is not trusted: .*NODE_EXTRA_CA_CERTS/)
      return !error.message.includes('hushhush')
    })
    assert.deepEqual(tls.credentials, [], 'a password was sent to who is not trusted')
    const authority = join(server.dataDir, 'authority.pem')
    writeFileSync(authority, testAuthority)
    await server.start({ NODE_EXTRA_CA_CERTS: authority })
    assert.deepEqual((await world.names({ query: 'wave' })).sort(), ['meanwhile', 'sand'])
    assert.deepEqual(new Set(tls.credentials), new Set([`Basic ${btoa('operator:hushhush')}`]))
  })
})
