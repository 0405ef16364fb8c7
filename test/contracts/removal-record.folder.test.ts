import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { erasurePartName } from '../../src/operator/removal-record.ts'
import { UnavailableError } from '../../src/platform/errors.ts'
import { newId } from '../../src/platform/ids.ts'
import { folderOfRemovals } from '../../src/storage/files/removal-folder.ts'
import { checkRemovalRecord } from './removal-record.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-removals-'))
after(() => rmSync(folder, { recursive: true, force: true }))

checkRemovalRecord('folder', async () => ({
  record: folderOfRemovals(join(folder, 'removals', 'one')),
  other: folderOfRemovals(join(folder, 'removals', 'other')),
  leave: (name) => writeFile(join(folder, 'removals', 'one', name), 'half'),
}))

test('record of removals: a folder that cannot be used is told without its path; entries are closed to others', async () => {
  const [file, name] = [join(folder, 'a-file'), erasurePartName(newId('ers'), 1, true)]
  await writeFile(file, '')
  const isTold = (error: unknown) =>
    error instanceof UnavailableError && /ENOTDIR|EEXIST/.test(error.message) && !error.message.includes('/')
  const record = folderOfRemovals(join(file, 'one'))
  await assert.rejects(record.names(), isTold)
  await assert.rejects(record.read(name), isTold)
  await assert.rejects(record.write(name, ''), isTold)
  assert.match((await record.unwritable())!.about, /^a part of the path of their folder is a file$/)
  assert.equal(await folderOfRemovals(join(folder, 'none', 'yet')).unwritable(), null)
  const pipe = erasurePartName(newId('ers'), 1, true)
  await folderOfRemovals(join(folder, 'piped')).write(name, '')
  execFileSync('mkfifo', [join(folder, 'piped', pipe)])
  await assert.rejects(folderOfRemovals(join(folder, 'piped')).read(pipe), /ers_.* is not a file: restore the file/)
  const open = join(folder, 'open')
  await folderOfRemovals(open).write(name, '{}')
  await chmod(open, 0o755)
  assert.equal(statSync(join(open, name)).mode & 0o777, 0o600)
})
