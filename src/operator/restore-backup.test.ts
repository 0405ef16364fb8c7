import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { artifactPath, type BackupManifest, manifestText } from './backup-manifest.ts'
import { finishRestore, type RestoreParts, refuseOverlap, restoreBackup } from './restore-backup.ts'

suite('after an interrupted restore', () => {
  let dataDir: string
  const staged = (name: string): string => join(dataDir, 'restore.partial', name)
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'tidemark-restore-'))
    mkdirSync(join(dataDir, 'restore.partial', 'artifacts'), { recursive: true })
    writeFileSync(join(dataDir, 'admin-token.sha256'), 'old')
  })
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

  test('interrupted before its store was in place, it is ignored', async () => {
    writeFileSync(staged('tidemark.sqlite'), 'half')
    writeFileSync(staged('admin-token.sha256'), 'new')
    await finishRestore(dataDir)
    assert.equal(readFileSync(join(dataDir, 'admin-token.sha256'), 'utf8'), 'old')
    assert.ok(existsSync(staged('tidemark.sqlite')))
  })

  test('interrupted after that, its token is put in place too, once', async () => {
    writeFileSync(staged('admin-token.sha256'), 'new')
    await finishRestore(dataDir)
    await finishRestore(dataDir)
    assert.equal(readFileSync(join(dataDir, 'admin-token.sha256'), 'utf8'), 'new')
    assert.deepEqual(readdirSync(dataDir), ['admin-token.sha256'])
  })

  test('a backup without a token keeps the existing one', async () => {
    await finishRestore(dataDir)
    assert.equal(readFileSync(join(dataDir, 'admin-token.sha256'), 'utf8'), 'old')
    assert.deepEqual(readdirSync(dataDir), ['admin-token.sha256'])
  })
})

suite('a damaged backup is refused before anything is changed', () => {
  const artifact = artifactPath('art_01m7j8pmardtjcsy3w4kgkb8pb')
  const texts = { 'tidemark.sqlite': 'a store, '.repeat(2000), [artifact]: 'an artifact, '.repeat(100) }
  const files = Object.entries(texts).map(([path, text]) => ({
    path,
    bytes: text.length,
    sha256: hash('sha256', text),
  }))
  const written: BackupManifest = {
    format: 1,
    tidemark: '0.1.0',
    made_at: '2026-01-01T00:00:00.000Z',
    schema: 9,
    counts: {},
    files,
  }
  let folder: string
  const inBackup = (path: string): string => join(folder, 'backup', path)
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidemark-restore-'))
    mkdirSync(inBackup('artifacts'), { recursive: true })
    for (const [path, text] of Object.entries(texts)) writeFileSync(inBackup(path), text)
    rewrite({})
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const touched = (): never => assert.fail('something was changed')
  const restore = (changes: Partial<RestoreParts> = {}, force = true) => {
    const parts: RestoreParts = {
      dataDir: join(folder, 'data'),
      artifacts: { draftPath: touched, keep: touched },
      newestSchema: 9,
      refuseInUse: touched,
      removeStoreLog: touched,
      prepareStore: touched,
      removeIndex: touched,
      ...changes,
    }
    return restoreBackup(join(folder, 'backup'), parts, { force }, () => {})
  }
  const flip = (path: string): void => {
    const bytes = readFileSync(inBackup(path))
    bytes[bytes.length >> 1]! ^= 1
    writeFileSync(inBackup(path), bytes)
  }
  /** Opening a named pipe to read it would wait for a writer. */
  const pipe = (path: string): void => {
    rmSync(inBackup(path))
    execFileSync('mkfifo', [inBackup(path)])
  }
  /** A manifest as a malicious or newer program might write it. */
  const rewrite = (changes: Partial<BackupManifest>): void =>
    writeFileSync(inBackup('manifest.json'), manifestText({ ...written, ...changes }))
  const outside = { path: '../outside', bytes: 0, sha256: hash('sha256', '') }

  const damages: [string, RegExp, () => void][] = [
    ['a flipped bit of the store', /damaged: tidemark.sqlite has changed/, () => flip('tidemark.sqlite')],
    ['a flipped bit of an artifact', /damaged: artifacts\/art_\w+.parquet has changed/, () => flip(artifact)],
    ['a flipped bit of the manifest', /damaged: its manifest.json/, () => flip('manifest.json')],
    ['a missing artifact', /damaged: artifacts\/art_\w+.parquet is missing/, () => rmSync(inBackup(artifact))],
    ['a missing store', /damaged: tidemark.sqlite is missing/, () => rmSync(inBackup('tidemark.sqlite'))],
    ['a missing manifest', /is not a backup/, () => rmSync(inBackup('manifest.json'))],
    ['a short store', /damaged: tidemark.sqlite has changed/, () => truncateSync(inBackup('tidemark.sqlite'), 8192)],
    ['a short manifest', /damaged: its manifest.json/, () => truncateSync(inBackup('manifest.json'), 100)],
    ['a path out of the folder', /damaged: its manifest.json/, () => rewrite({ files: [...files, outside] })],
    ['no store in the manifest', /damaged: its manifest.json/, () => rewrite({ files: files.slice(1) })],
    ['a pipe as the manifest', /manifest\.json: it is not a regular file/, () => pipe('manifest.json')],
    ['a pipe as the store', /damaged: tidemark.sqlite has changed/, () => pipe('tidemark.sqlite')],
    ['a newer version', /newer version of Tidemark \(.*schema 9999/, () => rewrite({ schema: 9999 })],
  ]
  for (const [what, message, damage] of damages) {
    test(what, async () => {
      damage()
      await assert.rejects(restore(), { message })
      assert.ok(!existsSync(join(folder, 'data')))
    })
  }

  test('an intact backup is restored', () => assert.rejects(restore(), { message: 'something was changed' }))

  test('a folder that cannot be used is refused before the backup is read', async () => {
    const untouched = { refuseInUse: () => {} }
    flip('tidemark.sqlite')
    const file = join(folder, 'file')
    writeFileSync(file, '')
    await assert.rejects(restore({ ...untouched, dataDir: file }), /file is not a folder/)
    await assert.rejects(restore({ ...untouched, dataDir: join(file, 'data') }), /file is not a folder/)
    symlinkSync(join(folder, 'gone'), join(folder, 'link'))
    await assert.rejects(restore({ ...untouched, dataDir: join(folder, 'link') }), /cannot write to .*link \(ENOENT\)/)
    await assert.rejects(restore({ ...untouched, dataDir: join(folder, 'link', 'data') }), /cannot write to .*link \(/)
    await assert.rejects(restore({ ...untouched, dataDir: folder }, false), /is not empty: .* --force/)
    const inUse = () => {
      throw new Error('in use')
    }
    await assert.rejects(restore({ dataDir: folder, refuseInUse: inUse }), /in use/)
  })
})

test('a backup is not restored to itself or to a folder in it, by whatever path', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-restore-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [data, backup, link] = ['data', 'data/backups/one', 'link'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(backup, { recursive: true })
  symlinkSync(backup, link)
  await assert.rejects(refuseOverlap(backup, backup), /one is the backup itself/)
  await assert.rejects(refuseOverlap(link, backup), /one is the backup itself/)
  await assert.rejects(refuseOverlap(backup, link), /link is the backup itself/)
  await assert.rejects(refuseOverlap(backup, join(link, 'not', 'there')), /there is in the backup/)
  await refuseOverlap(link, data)
  await refuseOverlap(backup, join(folder, 'data', 'backups', 'one-more'))
  await refuseOverlap(backup, join(folder, 'data', 'backups', '..two'))
})
