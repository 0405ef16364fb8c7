import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openMemorySqlite } from '../../test/contracts/memory-sqlite.ts'
import { newId } from '../platform/ids.ts'
import { folderOfRemovals } from '../storage/files/removal-folder.ts'
import { type Store, sqlStore } from '../storage/sql/sql-store.ts'
import { examineRemovals } from './examine-removals.ts'
import { Operator } from './operator.ts'
import { DamagedEntry, documentsInPart, erasurePartName, keyEntryName, type RemovalRecord } from './removal-record.ts'
import { Removals } from './removals.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-removals-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const record = folderOfRemovals(folder)

function removalsOf(
  store: Pick<Store, 'erasures' | 'operator'>,
  isWorker: boolean,
  record: RemovalRecord,
  loss: string | null = null,
): Removals {
  return new Removals({
    recordOf: async () => record,
    erasures: store.erasures,
    operator: new Operator(store.operator),
    hidden: () => {},
    loss: () => loss,
    isWorker,
    now: Date.now,
    logger: { info() {}, warn() {}, error() {} },
  })
}

test('a large erasure is written and repeated in parts, by any process that continues after another', async () => {
  const now = await openMemorySqlite()
  const store = sqlStore(now.db)
  const mark = { actor: 'test', at: Date.now() }
  await store.operator.commit([{ kind: 'dataset.put', datasetId: 'd', name: 'd', description: null }], mark)
  const count = documentsInPart + 150
  const document = (i: number) => ({ datasetId: 'd', platform: 'p', externalId: `e${i}`, body: 'text' })
  for (let i = 0; i < count; i += 500) {
    await store.content.ingest(
      Array.from({ length: Math.min(500, count - i) }, (_, more) => document(i + more)),
      Date.now(),
    )
  }
  const earlier = await openMemorySqlite()
  earlier.raw.deserialize(now.raw.serialize())
  const restored = sqlStore(earlier.db)

  const erasureId = newId('ers')
  const selection = { expired: { datasetId: 'd', below: newId('doc', Date.now() + 1000) } }
  const rest = { keepTombstones: true, purgeArtifacts: false, mustExist: false }
  await store.erasures.begin({ erasureId, selection, ...rest }, mark)
  while (await store.erasures.hide(erasureId, 1000, Date.now()));
  const first = removalsOf(store, true, record)
  await first.compare()
  assert.equal(first.isWritten(erasureId), false)
  assert.equal(await first.writeErasures(), true)
  assert.deepEqual(await record.names(), [erasurePartName(erasureId, 1, false)])
  assert.equal(first.isWritten(erasureId), false, 'a part is not all of it')
  const second = removalsOf(store, true, record)
  await second.compare()
  await second.findUnwritten()
  while (await second.writeErasures());
  assert.equal(second.isWritten(erasureId), true)
  assert.deepEqual((await record.names()).toSorted(), [
    erasurePartName(erasureId, 1, false),
    erasurePartName(erasureId, 2, true),
  ])

  const api = removalsOf(restored, false, record)
  await api.compare()
  assert.deepEqual([api.isCompared, api.condition().ok], [false, false])
  const ended = removalsOf(restored, true, record)
  ended.end()
  await ended.compare()
  assert.deepEqual([ended.isCompared, await restored.erasures.erasure(erasureId)], [false, null])
  const worker = removalsOf(restored, true, record)
  await worker.compare()
  await api.compare()
  assert.deepEqual([worker.isCompared, api.isCompared], [true, true])
  assert.equal(await restored.erasures.count(selection), 0)
  const { documents, removed } = (await restored.erasures.erasure(erasureId))!
  assert.deepEqual([documents, removed], [count, 0])
  const again = await restored.content.ingest([document(0), document(count - 1)], Date.now())
  assert.deepEqual(
    again.map((one) => 'outcome' in one && one.outcome),
    ['erased', 'erased'],
  )
  for (const { raw } of [now, earlier]) raw.close()
})

const now = (later = 0, loss: string | null = null) => ({ nowMs: Date.now() + later, loss })

/** A store with documents of which some were erased, and an earlier copy of the store. */
async function twoTimes(place: string, erased: readonly (readonly string[])[]) {
  const now = await openMemorySqlite()
  const store = sqlStore(now.db)
  const mark = { actor: 'test', at: Date.now() }
  await store.operator.commit([{ kind: 'dataset.put', datasetId: 'd', name: 'd', description: null }], mark)
  const document = (externalId: string) => ({ datasetId: 'd', platform: 'p', externalId, body: 'text' })
  const ids = new Map<string, string>()
  for (const name of erased.flat()) {
    const [sent] = await store.content.ingest([document(name)], Date.now())
    if ('documentId' in sent!) ids.set(name, sent.documentId)
  }
  const earlier = await openMemorySqlite()
  earlier.raw.deserialize(now.raw.serialize())
  const erasureIds: string[] = []
  const begin = async (names: readonly string[]): Promise<string> => {
    const erasureId = newId('ers')
    const selection = { documentIds: names.map((name) => ids.get(name)!) }
    const rest = { keepTombstones: true, purgeArtifacts: false, mustExist: false }
    await store.erasures.begin({ erasureId, selection, ...rest }, mark)
    return erasureId
  }
  for (const names of erased) erasureIds.push(await begin(names))
  const path = join(folder, place)
  const record = folderOfRemovals(path)
  const writes = removalsOf(store, true, record)
  await writes.compare()
  await writes.findUnwritten()
  while (await writes.writeErasures());
  const there = async (restored: Pick<Store, 'erasures'>) => restored.erasures.count({ documentIds: [...ids.values()] })
  const close = () => {
    for (const { raw } of [now, earlier]) raw.close()
  }
  return { store, restored: sqlStore(earlier.db), erasureIds, path, record, there, close }
}

const inWords = async (findings: ReturnType<typeof examineRemovals>): Promise<string> =>
  (await findings)
    .map(({ state, about, advice }) => `${state}: ${about}${advice === null ? '' : ` (${advice})`}`)
    .join('\n')

test('a damaged or missing entry keeps a process from being ready, but does not keep other erasures from being repeated', async () => {
  const world = await twoTimes('damaged', [['a'], ['b'], ['c']])
  const { restored, erasureIds, path, record, there } = world
  const [first, second, third] = erasureIds as [string, string, string]
  const whole = (await record.read(erasurePartName(first, 1, true)))!
  const worker = removalsOf(restored, true, record)
  const examined = () => inWords(examineRemovals(record, restored.erasures, now()))
  const wrong: [change: () => void, finding: RegExp][] = [
    [() => writeFileSync(join(path, erasurePartName(first, 1, true)), whole.slice(0, 40)), /the entry .* is damaged/],
    [() => writeFileSync(join(path, erasurePartName(first, 1, true)), ''), /the entry .* is damaged/],
    [() => writeFileSync(join(path, erasurePartName(first, 1, true)), 'null'), /the entry .* is damaged/],
    [
      () => renameSync(join(path, erasurePartName(first, 1, true)), join(path, erasurePartName(first, 2, true))),
      /part 1 of .* is missing/,
    ],
    [
      () => renameSync(join(path, erasurePartName(first, 2, true)), join(path, erasurePartName(first, 1, false))),
      /the last part of .* is missing/,
    ],
  ]
  for (const [change, about] of wrong) {
    change()
    worker.compareAgain()
    await assert.rejects(worker.compare(), DamagedEntry)
    const { ok, detail } = worker.condition()
    assert.equal(ok, false)
    assert.match(detail, about)
    assert.ok(detail.includes(`delete ${first}.*: then this erasure is not repeated`), detail)
    assert.match(await examined(), new RegExp(`^failure: .*${about.source}`))
  }
  assert.deepEqual([...(await restored.erasures.hiddenAmong(erasureIds))].sort(), [second, third].sort())

  await record.write(erasurePartName(first, 1, true), whole)
  rmSync(join(path, erasurePartName(first, 1, false)))
  await worker.compare()
  assert.deepEqual([worker.condition().ok, await there(restored)], [true, 0])
  assert.match(await examined(), /^ok: the record .* has 3 entries/)
  world.close()
})

test('a lost part of a known erasure is written again', async () => {
  const world = await twoTimes('lost-part', [['a']])
  const { store, erasureIds, path, record } = world
  const [erasureId] = erasureIds as [string]
  renameSync(join(path, erasurePartName(erasureId, 1, true)), join(path, erasurePartName(erasureId, 2, true)))
  assert.match(
    await inWords(examineRemovals(record, store.erasures, now())),
    /^warning: part 1 of .* is missing .*the store has this erasure: delete its entries/,
  )
  const worker = removalsOf(store, true, record)
  await worker.compare()
  await worker.findUnwritten()
  while (await worker.writeErasures());
  assert.ok((await record.names()).includes(erasurePartName(erasureId, 1, true)))
  world.close()
})

test('an erasure that waits because the record cannot be written is named, with the reason', async () => {
  const world = await twoTimes('unwritable', [['a'], ['b']])
  const { store, erasureIds, path, record } = world
  const [erasureId] = erasureIds as [string]
  for (const name of await record.names()) rmSync(join(path, name))
  const worker = removalsOf(store, true, record)
  await worker.compare()
  await worker.findUnwritten()
  renameSync(path, `${path}-away`)
  writeFileSync(path, 'not a folder')
  await assert.rejects(worker.writeErasures())
  const { ok, detail } = worker.condition()
  assert.equal(ok, true)
  const why =
    /; erasure (ers_\w+) is waiting to be written: the folder .* cannot be written \(EEXIST|ENOTDIR\); 2 erasures wait$/
  assert.match(detail, why)
  assert.equal(worker.waiting, 2)
  rmSync(path)
  renameSync(`${path}-away`, path)
  assert.match(
    await inWords(examineRemovals(record, store.erasures, now(300_000))),
    new RegExp(`^warning: erasures are not in the record yet.*${erasureId}`),
  )
  while (await worker.writeErasures());
  assert.deepEqual([worker.waiting, worker.condition().detail.includes('waits')], [0, false])
  assert.match(await inWords(examineRemovals(record, store.erasures, now(300_000))), /^ok: /)
  world.close()
})

test('a record that is empty after the store went back in time, or misses a completed erasure, is reported, also after a restart', async () => {
  const loss = newId('his')
  const world = await twoTimes('lost', [['a'], ['b']])
  const { store, restored, erasureIds, path, record } = world
  rmSync(path, { recursive: true })
  for (const erasureId of erasureIds) await store.erasures.complete(erasureId, Date.now())
  assert.match(
    await inWords(examineRemovals(record, store.erasures, now())),
    /^warning: the record .* lacks 2 erasures that the store has completed: ers_.*TIDEMARK_ARTIFACTS_URL/,
  )
  const [well, lost] = [removalsOf(restored, true, record), removalsOf(restored, true, record, loss)]
  for (const one of [well, lost]) await one.compare()
  const hadNone = /; the record of erasures and ended keys had no entries, although the store went back in time/
  assert.doesNotMatch(well.condition().detail, hadNone)
  assert.match(lost.condition().detail, hadNone)
  assert.equal(lost.condition().ok, true)
  assert.match(
    await inWords(examineRemovals(record, restored.erasures, now(0, loss))),
    /^warning: the record .* had no entries/,
  )

  // From here on the record has entries of the current store.
  const erasureId = newId('ers')
  const nothing = { keepTombstones: true, purgeArtifacts: false, mustExist: false }
  const selection = { documentIds: [newId('doc')] }
  await restored.erasures.begin({ erasureId, selection, ...nothing }, { actor: 'test', at: Date.now() })
  while (await restored.erasures.hide(erasureId, 1000, Date.now()));
  await lost.findUnwritten()
  while (await lost.writeErasures());
  assert.equal((await record.names()).length, 2)
  for (const isWorker of [true, false]) {
    const again = removalsOf(restored, isWorker, record, loss)
    await again.compare()
    assert.deepEqual([again.condition().ok, hadNone.test(again.condition().detail)], [true, true])
  }
  assert.match(
    await inWords(examineRemovals(record, restored.erasures, now(0, loss))),
    /warning: the record .* had no entries/,
  )
  // There is no warning once the loss is no longer shown, or after another loss, which found these entries in the
  // record.
  for (const other of [null, newId('his')]) {
    const later = removalsOf(restored, true, record, other)
    await later.compare()
    assert.doesNotMatch(later.condition().detail, hadNone)
    assert.match(await inWords(examineRemovals(record, restored.erasures, now(0, other))), /^ok: /)
  }
  world.close()
})

test('a repeated revocation keeps its original time, and adds no second entry', async () => {
  const [before, after] = [await openMemorySqlite(), await openMemorySqlite()]
  const store = sqlStore(before.db)
  const mark = { actor: 'test', at: 1000 }
  const owner = { kind: 'consumer', id: 'app' } as const
  const keyId = newId('key')
  const key = { keyId, owner, rights: null, name: null, prefix: 'tmc_', hash: 'h', expiresAt: null }
  const application = { kind: 'application.create', applicationId: 'app', name: 'a', policy: {} } as const
  await store.operator.commit([application, { kind: 'key.create', ...key }], mark)
  after.raw.deserialize(before.raw.serialize())
  await store.operator.commit([{ kind: 'key.revoke', keyId }], { actor: 'test', at: 2000 })
  const record = folderOfRemovals(join(folder, 'keys'))
  const restored = sqlStore(after.db)
  for (const one of [store, restored]) {
    const worker = removalsOf(one, true, record)
    await worker.compare()
    await worker.writeKeys()
  }
  assert.equal((await restored.operator.keys({}))[0]!.revokedAt, 2000)
  assert.deepEqual(await record.names(), [keyEntryName({ keyId, revokedAt: 2000, expiresAt: null })])
  for (const { raw } of [before, after]) raw.close()
})
