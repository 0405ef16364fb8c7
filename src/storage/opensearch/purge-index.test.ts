import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Cluster } from './cluster.ts'
import { IndexPurge } from './purge-index.ts'

/** The part of a cluster that a purge uses: one shard on two nodes. */
class PurgedCluster {
  /** The calls that change something, in order. */
  readonly changes: string[] = []
  status = 'green'
  moving = 0
  merges = 0
  /** Other merges, which are still running after the forced one. */
  otherMerges = 0
  failed = 0
  retained = 5
  known = 9
  nodes = ['n1', 'n2']
  /** The number of deleted documents in each segment. */
  segments: Record<string, number> = { _0: 3, _1: 0 }

  answer(method: string, path: string): object {
    if (path === '_forcemerge') this.merges = this.otherMerges
    if (method !== 'GET') {
      this.changes.push(path)
      return { _shards: { failed: this.failed } }
    }
    if (path.startsWith('_cluster')) {
      return { status: this.status, initializing_shards: this.moving, relocating_shards: 0 }
    }
    const ofCopies = (one: object) => ({
      indices: { i: { shards: { 0: this.nodes.map((node) => ({ routing: { node }, ...one })) } } },
    })
    if (path === '_segments') {
      const segments = Object.entries(this.segments).map(([name, deleted_docs]) => [name, { deleted_docs }])
      return ofCopies({ segments: Object.fromEntries(segments) })
    }
    return ofCopies({
      merges: { current: this.merges },
      seq_no: { max_seq_no: 9, global_checkpoint: this.known },
      retention_leases: { leases: [{ retaining_seq_no: 10 }, { retaining_seq_no: this.retained }] },
      commit: { user_data: { max_seq_no: '9' } },
    })
  }

  /** The changes since the last call. */
  changed(): string[] {
    return this.changes.splice(0)
  }
}

const [commit, merge] = [['_refresh', '_flush'], ['_forcemerge']]

async function purging(t: TestContext) {
  const cluster = new PurgedCluster()
  const server = createServer((request, response) => {
    request.resume()
    const { pathname } = new URL(request.url!, 'http://cluster')
    const answer = cluster.answer(request.method!, pathname.replace(/^\/(a\/)?/, ''))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { cluster, purge: new IndexPurge(new Cluster({ nodes: [`http://127.0.0.1:${port}`] }), 'a') }
}

test('a purge merges when no copy retains deletions, no merge is running and no shard is moving', async (t) => {
  const { cluster, purge } = await purging(t)
  assert.equal(await purge.step(), false)
  assert.deepEqual(cluster.changed(), ['_settings', ...commit])
  const ready = { retained: 10, merges: 0, moving: 0, status: 'yellow' }
  for (const obstacle of [{ retained: 9 }, { merges: 1 }, { moving: 1 }, { status: 'red' }]) {
    Object.assign(cluster, ready, obstacle)
    assert.equal(await purge.step(), false)
    assert.deepEqual(cluster.changed(), [], JSON.stringify(obstacle))
  }
  Object.assign(cluster, ready, { segments: { _1: 0, _2: 0 } })
  assert.equal(await purge.step(), true)
  assert.deepEqual(cluster.changed(), [...merge, ...commit, ...commit])
})

test('a purge merges once, and ends when no copy and no commit has the old segments', async (t) => {
  const { cluster, purge } = await purging(t)
  Object.assign(cluster, { retained: 10, otherMerges: 1 })
  assert.equal(await purge.step(), false)
  assert.deepEqual(cluster.changed(), ['_settings', ...commit, ...merge, ...commit])
  // A later purge removes documents that are deleted later.
  Object.assign(cluster, { segments: { _1: 1, _2: 4 }, known: 8 })
  assert.equal(await purge.step(), false)
  assert.deepEqual(cluster.changed(), commit)
  cluster.known = 9
  assert.equal(await purge.step(), true)
  assert.deepEqual(cluster.changed(), [...commit, ...commit])
})

test('a purge starts again if a copy was added, because it may have the old segments', async (t) => {
  const { cluster, purge } = await purging(t)
  Object.assign(cluster, { retained: 10, otherMerges: 1 })
  assert.equal(await purge.step(), false)
  Object.assign(cluster, { segments: { _2: 0 }, nodes: ['n1', 'n3'], merges: 0, otherMerges: 0 })
  assert.equal(await purge.step(), false)
  cluster.changed()
  assert.equal(await purge.step(), true)
  assert.deepEqual(cluster.changed(), [...merge, ...commit, ...commit])
})

test('a purge merges again after a failed merge, and does not end if a shard failed', async (t) => {
  const { cluster, purge } = await purging(t)
  cluster.retained = 10
  assert.equal(await purge.step(), false)
  cluster.failed = 1
  cluster.changed()
  await assert.rejects(purge.step(), /failed at _forcemerge on 1 shards/)
  Object.assign(cluster, { failed: 0, segments: { _2: 0 } })
  cluster.changed()
  assert.equal(await purge.step(), true)
  assert.deepEqual(cluster.changed(), [...merge, ...commit, ...commit])
})
