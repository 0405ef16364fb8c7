import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { backupName } from '../../src/operator/backup-manifest.ts'
import { folderOfBackups } from '../../src/storage/files/backup-folder.ts'
import { checkBackupPlace } from './backup-place.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-backups-'))
after(() => rmSync(folder, { recursive: true, force: true }))

checkBackupPlace('folder', async () => {
  const backups = join(folder, 'backups')
  return {
    place: folderOfBackups(backups),
    async leaveHalf(madeAt) {
      const partial = join(backups, `${backupName(madeAt)}.partial`)
      mkdirSync(partial, { recursive: true })
      writeFileSync(join(partial, 'tidemark.sqlite'), 'half')
    },
    hasAnything: async (madeAt) =>
      ['', '.partial'].some((ending) => existsSync(join(backups, backupName(madeAt) + ending))),
  }
})
