import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { ParquetCopy } from '../../src/mirror/parquet-copy.ts'
import { SqliteCopy } from '../../src/mirror/sqlite-copy.ts'
import { checkMirrorCopy, documentNamed, everything } from './mirror-copy.ts'

const fresh = (): string => mkdtempSync(join(tmpdir(), 'tidemark-copy-'))
const remove = (folder: string): void => rmSync(folder, { recursive: true })

checkMirrorCopy(
  'SQLite',
  async () => {
    const folder = fresh()
    return { open: async () => new SqliteCopy(join(folder, 'copy.sqlite')), remove: async () => remove(folder) }
  },
  20,
)
checkMirrorCopy(
  'Parquet',
  async () => {
    const folder = fresh()
    return { open: () => ParquetCopy.open(folder), remove: async () => remove(folder) }
  },
  15,
)

const position = { applicationId: 'app', entitlements: '', exportCursor: null, exportedThrough: '', changesCursor: 'c' }

test('what is not a copy is left alone: a database, a folder with other files', async () => {
  const folder = fresh()
  const path = join(folder, 'theirs.sqlite')
  const theirs = new DatabaseSync(path)
  theirs.exec('create table document (id text)')
  theirs.close()
  assert.throws(() => new SqliteCopy(path), /theirs\.sqlite cannot be a copy: it holds other data/)
  await assert.rejects(ParquetCopy.open(folder), /cannot be a copy: it holds other data/)
  const again = new DatabaseSync(path, { readOnly: true })
  assert.deepEqual(
    again
      .prepare('select name from sqlite_schema')
      .all()
      .map(({ name }) => name),
    ['document'],
  )
  again.close()
  remove(folder)
})

test('a SQLite copy that an older version made gets the columns that it lacks', async () => {
  const path = join(fresh(), 'copy.sqlite')
  const before = new SqliteCopy(path)
  await before.save({ documents: [documentNamed('doc_1')], gone: [], position })
  await before.close()
  const older = new DatabaseSync(path)
  older.exec('alter table document drop column thumbnail_url')
  older.close()
  const copy = new SqliteCopy(path)
  const thumbnail_url = 'https://a.example/a.png'
  await copy.save({ documents: [documentNamed('doc_2', { thumbnail_url })], gone: [], position })
  assert.deepEqual(
    (await everything(copy, 10)).map((one) => [one.id, one.thumbnail_url]),
    [
      ['doc_1', null],
      ['doc_2', thumbnail_url],
    ],
  )
  await copy.close()
  remove(dirname(path))
})

test('a Parquet step that was cut off at any point leaves the state before it or after it', async () => {
  const [folder, before, cut] = [fresh(), fresh(), fresh()]
  const copy = await ParquetCopy.open(folder)
  const first = Array.from({ length: 10 }, (_, i) => documentNamed(`doc_${i}`))
  await copy.save({ documents: first, gone: [], position })
  cpSync(folder, before, { recursive: true })
  const second = [documentNamed('doc_3', { title: 'Changed' }), documentNamed('doc_9x')]
  await copy.save({ documents: second, gone: ['doc_5'], position: { ...position, changesCursor: 'd' } })
  const after = await everything(copy, 100)
  const isManifest = (name: string) => name === 'manifest.json'
  /** The files of both states, and one that was being written. */
  const stateOf = async (manifestOf: string) => {
    rmSync(cut, { recursive: true })
    for (const one of [before, folder]) cpSync(one, cut, { recursive: true })
    cpSync(join(manifestOf, 'manifest.json'), join(cut, 'manifest.json'))
    writeFileSync(join(cut, '7-0.parquet.new'), 'PAR')
    const opened = await ParquetCopy.open(cut)
    const found = { documents: await everything(opened, 100), cursor: (await opened.position())!.changesCursor }
    await opened.save({ documents: [], gone: [], position })
    return { ...found, left: readdirSync(cut).filter((name) => !isManifest(name)) }
  }
  const filesOf = (one: string) => readdirSync(one).filter((name) => !isManifest(name))
  assert.deepEqual(await stateOf(before), { documents: first, cursor: 'c', left: filesOf(before) })
  assert.deepEqual(await stateOf(folder), { documents: after, cursor: 'd', left: filesOf(folder) })
  for (const one of [folder, before, cut]) remove(one)
})

test('a Parquet copy of many documents has files of a bounded size, and a change rewrites one of them', async () => {
  const folder = fresh()
  const copy = await ParquetCopy.open(folder)
  const documents = Array.from({ length: 4500 }, (_, i) => documentNamed(`doc_${String(i).padStart(5, '0')}`))
  await copy.save({ documents, gone: [], position })
  const files = readdirSync(folder)
  assert.equal(files.length, 1 + 5)
  await copy.save({ documents: [documentNamed('doc_02500', { title: 'Changed' })], gone: [], position })
  assert.equal(readdirSync(folder).filter((name) => !files.includes(name)).length, 1)
  assert.equal((await everything(copy, 1000)).length, documents.length)
  remove(folder)
})

test('what is gone from a SQLite copy is in no file of it', async () => {
  const folder = fresh()
  const copy = new SqliteCopy(join(folder, 'copy.sqlite'))
  const marker = 'a-marker-of-forty-bytes-0123456789abcdef'
  const isThere = () =>
    readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(Buffer.from(marker)))
  await copy.save({ documents: [documentNamed('doc_1', { title: marker })], gone: [], position })
  assert.ok(isThere())
  await copy.save({ documents: [], gone: ['doc_1'], position })
  assert.ok(!isThere())
  await copy.close()
  remove(folder)
})
