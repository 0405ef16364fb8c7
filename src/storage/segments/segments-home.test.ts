import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { put } from '../../../test/contracts/index-under-test.ts'
import { removeStoppedRebuild, removeUnusedIndex } from './file/index-files.ts'
import { SegmentsHome } from './segments-home.ts'
import { openSegmentsIndex } from './segments-index.ts'

const folder = mkdtempSync(join(tmpdir(), 'segments-home-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const originOf = (rules: string, instance = 'a') => ({ rules, instance })
const homeAt = (dataDir: string, rules = 'one', instance = 'a') =>
  new SegmentsHome({ dataDir, origin: originOf(rules, instance), readers: 1 })
const freshFolder = (): string => mkdtempSync(join(folder, 'data-'))

async function fill(path: string): Promise<void> {
  const index = await openSegmentsIndex({ path, readers: 1 })
  await index.apply({ position: 7, changes: [put('d1', ['word'])] })
  await index.close()
}

async function position(dataDir: string, rules?: string): Promise<number> {
  const index = await homeAt(dataDir, rules).open()
  const health = await index.health()
  await index.close()
  return health.position
}

test('a file that no pointer names is never opened, whatever its number', async () => {
  // The files of a version that had no pointer for the index that is being built.
  const upgraded = freshFolder()
  writeFileSync(join(upgraded, 'search.current'), JSON.stringify({ generation: 1, rules: 'old' }))
  await fill(join(upgraded, 'search-2.sqlite'))
  assert.equal(await position(upgraded), 0)
  // A pointer that was lost, or deleted by hand.
  const lost = freshFolder()
  await fill(join(lost, 'search-1.sqlite'))
  assert.equal(await position(lost), 0)
  for (const dataDir of [upgraded, lost]) {
    assert.equal(
      readdirSync(dataDir).filter((name) => name.endsWith('.sqlite')).length,
      1,
      'only the served index is left',
    )
  }
})

test('an index of an earlier version with the same rules is served as it is, and then belongs to this instance', async () => {
  const dataDir = freshFolder()
  await fill(join(dataDir, 'search-4.sqlite'))
  writeFileSync(join(dataDir, 'search.current'), JSON.stringify({ generation: 4, rules: 'one' }))
  assert.equal(await position(dataDir), 7)
  assert.equal(await position(dataDir), 7)
  const other = await homeAt(dataDir, 'one', 'b').open()
  assert.equal((await other.health()).position, 0)
  await other.close()
})

test('when several homes are opened at once on an empty folder, one opens the index and the others are refused', async () => {
  const dataDir = freshFolder()
  const opened = await Promise.allSettled(Array.from({ length: 3 }, () => homeAt(dataDir).open()))
  const indexes = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const refusals = opened.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))
  try {
    assert.equal(indexes.length, 1, refusals.join())
    for (const refusal of refusals)
      assert.match(refusal, /is served by another process: stop it, or set TIDEMARK_DATA_DIR/)
    assert.ok(existsSync(join(dataDir, 'search-1.sqlite')))
    await indexes[0]!.apply({ position: 1, changes: [put('d1', ['word'])] })
  } finally {
    for (const index of indexes) await index.close()
  }
  assert.equal(await position(dataDir), 1)
})

test('a served index is not replaced by a home with other rules or of another instance', async () => {
  const dataDir = freshFolder()
  const index = await homeAt(dataDir).open()
  try {
    for (const other of [homeAt(dataDir, 'two'), homeAt(dataDir, 'one', 'b')]) {
      await assert.rejects(other.open(), /is served by another process: stop it, or set TIDEMARK_DATA_DIR/)
    }
    await index.apply({ position: 3, changes: [put('d1', ['word'])] })
  } finally {
    await index.close()
  }
  assert.equal(await position(dataDir), 3)
})

test("a rebuilt index that the server may not write is not taken over, and files that root hands over belong to the folder's owner", async (t) => {
  const dataDir = freshFolder()
  const nobody = 65534
  // Root may write anything, so the test runs the server as a user who may not.
  const user = process.getuid!() === 0 ? { uid: nobody, gid: nobody } : {}
  if ('uid' in user) {
    chmodSync(folder, 0o755)
    chownSync(dataDir, nobody, nobody)
  }
  const script = fileURLToPath(new URL('../../../test/contracts/crash/index-adopter.ts', import.meta.url))
  const server = spawn(process.execPath, [script, dataDir], { ...user, stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => server.kill())
  const lines = createInterface(server.stdout)[Symbol.asyncIterator]()
  assert.equal((await lines.next()).value, 'open')
  const { index, handOver } = await homeAt(dataDir).openNext()
  await index.apply({ position: 5, changes: [put('d5', ['word'])] })
  await index.close()
  await handOver()
  const made = readdirSync(dataDir).filter((name) => name.startsWith('search-2'))
  assert.ok(made.includes('search-2.sqlite') && made.includes('search-2.sqlite-lock'), made.join())
  for (const name of [...made, 'search.current']) {
    assert.equal(statSync(join(dataDir, name)).uid, statSync(dataDir).uid, name)
  }
  chmodSync(join(dataDir, 'search-2.sqlite'), 0o444)
  server.stdin.write('look\n')
  assert.match(
    String((await lines.next()).value),
    /^search-2.sqlite in the data folder cannot be written .*: change its owner/,
  )
  assert.equal((await lines.next()).value, 'the one before is at 1')
})

test('when the files of the index are removed under a running server, it still takes over a rebuilt index', async () => {
  const dataDir = freshFolder()
  const home = homeAt(dataDir)
  const served = await home.open()
  try {
    for (const name of readdirSync(dataDir)) rmSync(join(dataDir, name))
    const { index, handOver } = await homeAt(dataDir).openNext()
    await index.apply({ position: 5, changes: [put('d5', ['word'])] })
    await index.close()
    await handOver()
    const newer = await home.openNewer()
    assert.equal((await newer?.health())?.position, 5)
    await newer?.close()
  } finally {
    await served.close()
  }
  // The old index, which is closed last, removes nothing of the new one.
  assert.equal(await position(dataDir), 5)
})

test('an index file that cannot be opened is named, with advice; a folder of that name is left alone', async () => {
  const dataDir = freshFolder()
  await position(dataDir)
  rmSync(join(dataDir, 'search-1.sqlite'))
  mkdirSync(join(dataDir, 'search-1.sqlite'))
  const named = /search index search-1.sqlite in the data folder cannot be opened: .*if you remove it, it is rebuilt/
  await assert.rejects(homeAt(dataDir).open(), { message: named })
  const [finding] = (await homeAt(dataDir).inspect())!.findings
  assert.match(finding!.about, named)
  assert.equal(await position(dataDir, 'two'), 0)
  assert.ok(existsSync(join(dataDir, 'search-1.sqlite')))
})

test('an invalid pointer counts as no index', async () => {
  const dataDir = freshFolder()
  writeFileSync(join(dataDir, 'search.current'), '{"generation": "x"')
  assert.equal(await homeAt(dataDir).inspect(), null)
  assert.equal(await position(dataDir), 0)
})

test('an index that grows beyond what one node searches comfortably warns of it, and the home reports the limit', async () => {
  const home = new SegmentsHome({ dataDir: freshFolder(), origin: originOf('one'), readers: 1, chunksComfortable: 1 })
  assert.equal(home.chunksComfortable, 1)
  const index = await home.open()
  try {
    await index.apply({ position: 1, changes: [put('d1', ['word'])] })
    assert.deepEqual((await index.health()).warnings, [])
    await index.apply({ position: 2, changes: [put('d2', ['word'])] })
    assert.match((await index.health()).warnings.join(), /^2 chunks are more than one node .* index server$/)
  } finally {
    await index.close()
  }
})

test('the memory of an index is the sum of its parts', async () => {
  const index = await homeAt(freshFolder()).open()
  try {
    await index.apply({ position: 1, changes: [put('d1', ['some words'], { vectors: [[1, 2, 3]] })] })
    const { memoryBytes, diskBytes, parts, profiles } = await index.health()
    assert.equal(
      memoryBytes,
      Object.values(parts).reduce((sum, bytes) => sum + bytes, 0),
    )
    assert.ok(parts.postings! > 0 && parts.vectorBytes! > 0 && diskBytes > 0)
    assert.deepEqual(profiles, [{ profileId: 'p', dimensions: 3, chunks: 1 }])
  } finally {
    await index.close()
  }
})

/** Names of files that hold an index or point to one. */
const filesOf = (dataDir: string): string[] => readdirSync(dataDir).filter((name) => name.startsWith('search'))

test('indexes that nothing uses are removed with all their files, unless one of them is open', async () => {
  const dataDir = freshFolder()
  writeFileSync(join(dataDir, 'tidemark.sqlite'), 'the store')
  const served = await homeAt(dataDir).open()
  await (await homeAt(dataDir).openNext()).index.close()
  const before = filesOf(dataDir)
  await assert.rejects(removeUnusedIndex(dataDir), /is served by another process/)
  assert.deepEqual(filesOf(dataDir), before)
  await served.close()
  assert.ok((await removeUnusedIndex(dataDir)) >= 2)
  assert.deepEqual(readdirSync(dataDir), ['tidemark.sqlite'])
  assert.equal(await removeUnusedIndex(dataDir), 0)
})

test('a stopped rebuild is removed and the served index stays; a running rebuild is left alone', async () => {
  const dataDir = freshFolder()
  const served = await homeAt(dataDir).open()
  const before = filesOf(dataDir)
  assert.equal(await removeStoppedRebuild(dataDir), true)
  const next = await homeAt(dataDir).openNext()
  assert.equal(await removeStoppedRebuild(dataDir), false)
  await next.index.apply({ position: 3, changes: [put('d1', ['word'])] })
  await next.index.close()
  assert.notDeepEqual(filesOf(dataDir), before)
  assert.equal(await removeStoppedRebuild(dataDir), true)
  assert.deepEqual(filesOf(dataDir), before)
  await assert.rejects(next.handOver(), /run tidemark reindex again/)
  await served.close()
  const again = await homeAt(dataDir).openNext()
  assert.equal((await again.index.health()).position, 0)
  await again.index.close()
})
