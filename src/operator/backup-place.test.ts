import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backupName, backupTimeOf } from './backup-manifest.ts'
import { type BackupPlace, nextBackupAt, pruneBackups } from './backup-place.ts'

const day = 86_400_000
const at = Date.UTC(2026, 10, 16, 12)

function placeWith(...times: number[]): BackupPlace & { readonly kept: string[]; unfinishedBefore: number } {
  const kept = times.map(backupName)
  return {
    kept,
    unfinishedBefore: 0,
    name: 'a list',
    names: async () => [...kept],
    receive: () => assert.fail('none is made'),
    open: () => assert.fail('none is opened'),
    async remove(name) {
      kept.splice(kept.indexOf(name), 1)
    },
    async removeUnfinished(beforeMs) {
      this.unfinishedBefore = beforeMs
    },
  }
}

test('the name of a backup contains its time', () => {
  assert.equal(backupName(at), 'tidemark-backup-2026-11-16T12-00-00Z')
  assert.equal(backupTimeOf(backupName(at + 999)), at)
  for (const name of ['tidemark-backup-2026-13-16T12-00-00Z', `${backupName(at)}.partial`, '', '../etc']) {
    assert.equal(backupTimeOf(name), null, name)
  }
})

test('the newest are kept, and incomplete ones that were started days ago are removed', async () => {
  const place = placeWith(at - 3 * day, at - 2 * day, at - day, at)
  assert.deepEqual(await pruneBackups(place, 2, at), [backupName(at - 3 * day), backupName(at - 2 * day)])
  assert.deepEqual(place.kept, [backupName(at - day), backupName(at)])
  assert.equal(place.unfinishedBefore, at - 2 * day)
  assert.deepEqual(await pruneBackups(place, 2, at), [])
  assert.deepEqual(await pruneBackups(placeWith(), 1, at), [])
})

test('the next backup is due one interval after the newest, or at once if there is none', async () => {
  assert.equal(await nextBackupAt(placeWith(), day, at), at)
  assert.equal(await nextBackupAt(placeWith(at - 5 * day, at - 1000), day, at), at - 1000 + day)
  assert.equal(await nextBackupAt(placeWith(at - 3 * day), day, at), at - 2 * day)
  // The clock was wrong when it was made, or is wrong now.
  assert.equal(await nextBackupAt(placeWith(at + 300 * day), day, at), at)
})
