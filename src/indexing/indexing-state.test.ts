import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { IndexHealth, SearchIndex } from './fed-index.ts'
import type { Backlog, IndexSource } from './index-source.ts'
import { indexingState, readiness, readinessWithoutBacklog } from './indexing-state.ts'

const healthy = { state: 'ready', reason: '', position: 9, chunks: 5, profiles: [], warnings: [] }
const idle: Backlog = { documents: 0, waitingVectors: 0, oldestAt: null }

const index = (health: Partial<IndexHealth>) =>
  ({ health: async () => ({ ...healthy, ...health }) }) as unknown as SearchIndex

function stateOf(
  health: Partial<IndexHealth>,
  backlog: Partial<Backlog>,
  isRefilling = false,
  vectorsPerSecond: number | null = null,
  trouble: string | null = null,
  isEndpoint = false,
  isBehind = false,
) {
  const positions: number[] = []
  const source = {
    backlog: async (position: number) => {
      positions.push(position)
      return { ...idle, ...backlog }
    },
  } as unknown as IndexSource
  const work = {
    isRefilling,
    isBehind,
    isFeeding: true,
    isMakingVectors: true,
    documentsPerSecond: null,
    vectorsPerSecond,
    trouble,
  }
  return indexingState(index(health), source, work, { profileId: 'new', isEndpoint }).then((state) => ({
    state,
    positions,
  }))
}

suite('the state of indexing', () => {
  test('without a backlog there are no warnings', async () => {
    const { state, positions } = await stateOf({}, {})
    assert.deepEqual([state.oldestPendingSeconds, state.warnings], [null, []])
    assert.deepEqual(positions, [9])
  })

  test('the backlog of an index that needs a rebuild counts from 0, whatever its position', async () => {
    const { state, positions } = await stateOf({ state: 'needs_rebuild', reason: 'damaged' }, {})
    assert.deepEqual(positions, [0])
    assert.match(state.warnings.join(), /being rebuilt: damaged/)
  })

  test('while the index is refilled, the age of the backlog causes no other warning', async () => {
    const { state } = await stateOf({}, { documents: 500, oldestAt: Date.now() - 86_400_000 }, true)
    assert.deepEqual(state.warnings, [
      'the index is being filled from the store: searches miss documents and return a warning until it is complete',
    ])
  })

  test('a backlog of more than a minute, and warnings of the index itself, are reported', async () => {
    const late = await stateOf({}, { documents: 1, oldestAt: Date.now() - 61_000 })
    assert.match(late.state.warnings.join(), /^indexing of documents is more than a minute behind/)
    assert.ok(late.state.oldestPendingSeconds! >= 61)
    const soon = await stateOf({}, { documents: 1, oldestAt: Date.now() + 5000 })
    assert.deepEqual([soon.state.oldestPendingSeconds, soon.state.warnings], [0, []])
    assert.deepEqual((await stateOf({ warnings: ['terms are full'] }, {})).state.warnings, ['terms are full'])
  })

  test('the warning says what waits, and names the endpoint only if one is set and vectors wait', async () => {
    const oldestAt = Date.now() - 61_000
    const warningsOf = async (backlog: Partial<Backlog>, isEndpoint: boolean) =>
      (await stateOf({}, { ...backlog, oldestAt }, false, null, null, isEndpoint)).state.warnings.join()
    const busy = 'is more than a minute behind: see whether the machine is busy'
    assert.equal(await warningsOf({ waitingVectors: 2 }, false), `indexing of vectors ${busy}`)
    assert.equal(
      await warningsOf({ documents: 1, waitingVectors: 2 }, false),
      `indexing of documents and vectors ${busy}`,
    )
    assert.equal(await warningsOf({ documents: 1 }, true), `indexing of documents ${busy}`)
    assert.match(
      await warningsOf({ waitingVectors: 2 }, true),
      /^indexing of vectors .* the embedding endpoint answers and/,
    )
    const profiles = [{ profileId: 'before', dimensions: 3, chunks: 5 }]
    const changed = await stateOf({ profiles }, { waitingVectors: 2, oldestAt })
    assert.match(changed.state.warnings.join(), /model was changed: .*see whether the machine is busy$/)
  })

  test('an index that cannot be fed is reported at once, with the reason', async () => {
    const { state } = await stateOf({}, { documents: 1, oldestAt: Date.now() }, false, null, 'the disk is full')
    assert.match(state.warnings.join(), /not being fed.*: the disk is full$/)
  })

  test('missing documents that were acknowledged long ago are reported beside the reason, except during a refill', async () => {
    const warningsOf = async (isRefilling: boolean) =>
      (await stateOf({}, { documents: 1 }, isRefilling, null, 'the cluster is away', false, true)).state.warnings
    const trouble = 'the index is not being fed, so searches miss new documents: the cluster is away'
    assert.deepEqual(await warningsOf(false), [
      trouble,
      'the index is missing documents that were acknowledged long ago: searches return a warning until it has them',
    ])
    assert.match((await warningsOf(true)).join(), /: the cluster is away,the index is being filled from the store/)
  })

  test('vectors that are being made are reported with rate and time, without advice to look for a fault', async () => {
    const oldestAt = Date.now() - 3_600_000
    for (const [waitingVectors, expected] of [
      [1000, /^vectors are 84 s behind, at 12 a second/],
      [10_000, /^vectors are 14 min behind/],
      [1_000_000, /^vectors are 23 h behind/],
    ] as const) {
      const { state } = await stateOf({}, { waitingVectors, oldestAt }, false, 12)
      assert.match(state.warnings.join(), expected)
      assert.equal(state.vectorsPerSecond, 12)
    }
  })

  test('after a change of the model, the warning says that vectors are made again', async () => {
    const profiles = [
      { profileId: 'before', dimensions: 3, chunks: 5 },
      { profileId: 'new', dimensions: 3, chunks: 2 },
    ]
    const backlog = { waitingVectors: 3, oldestAt: Date.now() - 3_600_000 }
    const [first, ...others] = (await stateOf({ profiles }, backlog)).state.warnings
    assert.match(
      first!,
      /^the embedding model was changed: 3 vectors of new are missing.*until they are made, before finds the others/,
    )
    assert.deepEqual(others, [])
    const [made] = (await stateOf({ profiles }, backlog, false, 1)).state.warnings
    assert.match(made!, /^vectors are 3 s behind, at 1.0 a second, newest first: until then before finds the others$/)
    const documents = await stateOf({ profiles }, { ...backlog, documents: 1 })
    assert.match(documents.state.warnings.join(), /^indexing of documents and vectors is more than a minute behind/)
    const same = await stateOf({ profiles: [{ ...profiles[0]!, profileId: 'new' }] }, backlog)
    assert.match(same.state.warnings.join(), /^indexing of vectors is more than a minute behind/)
  })

  test('readiness says whether a search would be answered, and how far the index is behind', async () => {
    const size = { searchable: true, takesWrites: true, memoryBytes: 3 * 2 ** 20 }
    const { state } = await stateOf(size, {})
    assert.deepEqual(readiness(state, true), { ok: true, detail: '5 chunks in 3 MiB, up to date' })
    const behind = await stateOf({ ...size, searchable: false, warnings: ['terms are full'] }, { waitingVectors: 2 })
    assert.deepEqual(readiness(behind.state, true), {
      ok: false,
      detail: '5 chunks in 3 MiB, 0 documents and 2 vectors behind, terms are full',
    })
    const blocked = await stateOf({ ...size, takesWrites: false }, {})
    assert.equal(readiness(blocked.state, true).ok, false)
  })
  test('an index that is being filled is ready if the process is alone, and not ready beside other processes', async () => {
    const { state } = await stateOf({ searchable: true, takesWrites: true, memoryBytes: 0 }, { documents: 3 }, true)
    assert.equal(readiness(state, false).ok, true)
    assert.equal(readiness(state, true).ok, false)
    const health = await index({ searchable: true }).health()
    assert.deepEqual(
      [readinessWithoutBacklog(health, false).ok, readinessWithoutBacklog(health, true).ok],
      [true, false],
    )
  })
})
