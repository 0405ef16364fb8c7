import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { makeFolder } from './folders.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-folder-'))
after(() => rmSync(folder, { recursive: true }))

test('a folder is created with its parents, also by several calls at once; an existing one is kept', async () => {
  for (let i = 0; i < 50; i++) {
    const deep = join(folder, String(i), 'b', 'c')
    await Promise.all(Array.from({ length: 5 }, () => makeFolder(deep)))
    assert.ok(existsSync(deep))
    await makeFolder(`${deep}/`)
  }
  await makeFolder('/')
})

test('a file in the way is reported with its path', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  await assert.rejects(makeFolder(file), { code: 'EEXIST', path: file })
  await assert.rejects(makeFolder(join(file, 'below')), { code: 'ENOTDIR' })
})

test('a folder that cannot be created is reported, and not retried forever', {
  skip: !existsSync('/proc/self') && 'there is no /proc here',
}, async () => {
  await assert.rejects(makeFolder('/proc/nope'), { syscall: 'mkdir', path: '/proc/nope' })
  await assert.rejects(makeFolder('/proc/nope/deeper'), { syscall: 'mkdir' })
})
