import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { type AssignedChunk, type FollowedCluster, followClusters } from './follow-clusters.ts'

const newIdOf = (name: string) => `new ${name}`

/** `{ A: 'abc' }` is a cluster A of the chunks a, b and c, each of its own document. The chunks of `-` are in none. */
function chunksIn(clusters: Readonly<Record<string, string>>): AssignedChunk[] {
  return Object.entries(clusters).flatMap(([clusterId, chunks]) =>
    [...chunks].map((chunk) => ({
      chunkId: chunk,
      documentId: `doc ${chunk}`,
      clusterId: clusterId === '-' ? null : clusterId,
    })),
  )
}

const summaryOf = (followed: readonly FollowedCluster[]) =>
  followed.map(({ clusterId, status, parentClusterIds, size }) => [clusterId, status, parentClusterIds.join(' '), size])

const follow = (before: Record<string, string>, now: Record<string, string>) =>
  summaryOf(followClusters(chunksIn(before), chunksIn(now), newIdOf))

suite('clusters from one run to the next', () => {
  test('without a previous run, all are new', () => {
    assert.deepEqual(follow({}, { x: 'abc', y: 'de', '-': 'f' }), [
      ['new x', 'new', '', 3],
      ['new y', 'new', '', 2],
    ])
    assert.deepEqual(follow({}, {}), [])
  })

  test('a cluster keeps its id however much it grows, as long as half of the smaller of the two is shared', () => {
    const grown = { x: 'abcdefghijklmnopqrst' }
    assert.deepEqual(follow({ A: 'abcd' }, grown), [['A', 'continued', 'A', 20]])
    assert.deepEqual(follow({ A: 'abcdefghijkl' }, { x: 'ab12', '-': 'cdef' }), [['A', 'continued', 'A', 4]])
    assert.deepEqual(follow({ A: 'abcd' }, { x: 'ab12345' }), [['A', 'continued', 'A', 7]])
    assert.deepEqual(follow({ A: 'abcd' }, { x: 'a123456' }), [
      ['new x', 'new', '', 7],
      ['A', 'gone', '', 0],
    ])
  })

  test('when a cluster splits, the part with the largest overlap keeps the id', () => {
    assert.deepEqual(follow({ A: 'abcdefghi' }, { x: 'abc', y: 'defghi', z: 'jkl' }), [
      ['A', 'continued', 'A', 6],
      ['new x', 'split', 'A', 3],
      ['new z', 'new', '', 3],
    ])
  })

  test('a merged cluster keeps the id of the one with the largest overlap', () => {
    assert.deepEqual(follow({ A: 'abc', B: 'defgh', C: 'xyz' }, { x: 'abcdefgh12', y: 'xyz' }), [
      ['B', 'merged', 'B A', 10],
      ['C', 'continued', 'C', 3],
      ['A', 'gone', '', 0],
    ])
  })

  test('a cluster made of parts of others gets a new id', () => {
    assert.deepEqual(follow({ A: 'abcdefg', B: 'hijklmn' }, { x: 'abcd', y: 'hijk', z: 'eflm' }), [
      ['A', 'continued', 'A', 4],
      ['B', 'continued', 'B', 4],
      ['new z', 'merged', 'A B', 4],
    ])
  })

  test('a cluster that dissolves is gone, and chunks that were in no cluster give no parent', () => {
    assert.deepEqual(follow({ A: 'abc', '-': 'xyz' }, { x: 'xyz', '-': 'abc' }), [
      ['new x', 'new', '', 3],
      ['A', 'gone', '', 0],
    ])
    assert.deepEqual(follow({ A: 'abc' }, {}), [['A', 'gone', '', 0]])
  })

  test('a document with a new version stays in its topic; a document with several chunks counts by shares', () => {
    const of = (documentId: string, version: number, clusterId: string | null, count = 1): AssignedChunk[] =>
      Array.from({ length: count }, (_, i) => ({
        chunkId: `${documentId} ${version} ${clusterId} ${i}`,
        documentId,
        clusterId,
      }))
    const before = [...of('a', 1, 'A'), ...of('b', 1, 'A'), ...of('c', 1, 'A'), ...of('d', 1, 'B', 3)]
    const now = [...of('a', 2, 'x'), ...of('b', 2, 'x'), ...of('c', 2, 'x', 4), ...of('d', 2, 'y', 3)]
    assert.deepEqual(summaryOf(followClusters(before, now, newIdOf)), [
      ['A', 'continued', 'A', 6],
      ['B', 'continued', 'B', 3],
    ])
    // A third of the document went elsewhere. Which third does not matter.
    const moved = [...of('d', 2, 'y', 2), ...of('d', 2, 'z', 1)]
    assert.deepEqual(summaryOf(followClusters(of('d', 1, 'B', 3), moved, newIdOf)), [
      ['B', 'continued', 'B', 2],
      ['new z', 'split', 'B', 1],
    ])
  })

  /**
   * Runs of a series. In each, a chunk is missing, in no cluster, or in one of a few; some documents have two chunks.
   */
  const clusters = fc.constantFrom(...'  ---pppqqqrrss')
  const series = fc.array(fc.array(clusters, { minLength: 24, maxLength: 24 }), { minLength: 2, maxLength: 6 })
  const chunksOf = (run: readonly string[]): AssignedChunk[] =>
    run.flatMap((cluster, i) =>
      cluster === ' '
        ? []
        : [{ chunkId: `c${i}`, documentId: `d${i % 20}`, clusterId: cluster === '-' ? null : cluster }],
    )

  test('any series: each id is kept by at most one cluster, only by kin, and never returns', () => {
    fc.assert(
      fc.property(series, fc.infiniteStream(fc.nat()), (runs, chance) => {
        const shuffled = <T>(items: readonly T[]): T[] =>
          items
            .map((item) => [chance.next().value!, item] as const)
            .sort(([a], [b]) => a - b)
            .map(([, item]) => item)
        const seen = new Set<string>()
        let before: AssignedChunk[] = []
        for (const [number, run] of runs.entries()) {
          const now = chunksOf(run)
          const nameOf = (name: string) => `${name}${number}`
          const followed = followClusters(before, now, nameOf)
          assert.deepEqual(followClusters(shuffled(before), shuffled(now), nameOf), followed)

          const idsBefore = new Set(before.flatMap(({ clusterId }) => clusterId ?? []))
          const here = followed.filter(({ status }) => status !== 'gone')
          const ids = here.map(({ clusterId }) => clusterId)
          assert.equal(new Set(followed.map(({ clusterId }) => clusterId)).size, followed.length)
          const membersOf = (chunks: readonly AssignedChunk[], id: string | null) =>
            new Set(chunks.filter(({ clusterId }) => clusterId === id).map(({ chunkId }) => chunkId))
          for (const { name, clusterId, status, parentClusterIds, size } of here) {
            const own = membersOf(now, name)
            assert.equal(own.size, size)
            const kin = [...idsBefore].filter((id) => {
              const earlier = membersOf(before, id)
              return own.intersection(earlier).size * 2 >= Math.min(own.size, earlier.size)
            })
            // Skips runs with a document that has no chunk in common, because those count by shares.
            const isPlain = now.every(
              ({ documentId }) =>
                !before.some((one) => one.documentId === documentId) ||
                before.some((one) =>
                  now.some((other) => other.chunkId === one.chunkId && one.documentId === documentId),
                ),
            )
            if (isPlain) assert.deepEqual(parentClusterIds.toSorted(), kin.toSorted())
            const isKept = idsBefore.has(clusterId)
            assert.ok(isKept ? parentClusterIds.includes(clusterId) : !seen.has(clusterId))
            const count = parentClusterIds.length
            assert.equal(status, count === 0 ? 'new' : count > 1 ? 'merged' : isKept ? 'continued' : 'split')
            // A parent's id is only given up if another cluster keeps it.
            if (!isKept) for (const parent of parentClusterIds) assert.ok(ids.includes(parent))
          }
          assert.deepEqual(
            new Set(followed.flatMap(({ status, clusterId }) => (status === 'gone' ? [clusterId] : []))),
            idsBefore.difference(new Set(ids)),
          )
          for (const id of ids) seen.add(id)
          const idOf = new Map(here.map(({ name, clusterId }) => [name, clusterId]))
          before = now.map((chunk) => ({ ...chunk, clusterId: idOf.get(chunk.clusterId) ?? null }))
        }
      }),
    )
  })
})
