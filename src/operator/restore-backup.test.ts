import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { finishRestore } from './restore-backup.ts'

suite('what is left of a restore that was ended', () => {
  let dataDir: string
  const staged = (name: string): string => join(dataDir, 'restore.partial', name)
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'tidemark-restore-'))
    mkdirSync(join(dataDir, 'restore.partial', 'artifacts'), { recursive: true })
    writeFileSync(join(dataDir, 'admin-token.sha256'), 'old')
  })
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

  test('before its store was in place: nothing of it counts', async () => {
    writeFileSync(staged('tidemark.sqlite'), 'half')
    writeFileSync(staged('admin-token.sha256'), 'new')
    await finishRestore(dataDir)
    assert.equal(readFileSync(join(dataDir, 'admin-token.sha256'), 'utf8'), 'old')
    assert.ok(existsSync(staged('tidemark.sqlite')))
  })

  test('after that: the token comes too, once', async () => {
    writeFileSync(staged('admin-token.sha256'), 'new')
    await finishRestore(dataDir)
    await finishRestore(dataDir)
    assert.equal(readFileSync(join(dataDir, 'admin-token.sha256'), 'utf8'), 'new')
    assert.deepEqual(readdirSync(dataDir), ['admin-token.sha256'])
  })

  test('a backup without a token leaves the one that is there', async () => {
    await finishRestore(dataDir)
    assert.equal(readFileSync(join(dataDir, 'admin-token.sha256'), 'utf8'), 'old')
    assert.deepEqual(readdirSync(dataDir), ['admin-token.sha256'])
  })
})
