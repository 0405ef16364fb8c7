import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BackupError, backupTimeOf } from '../../operator/backup-manifest.ts'
import type { BackupPlace } from '../../operator/backup-place.ts'

const unfinished = '.partial'

/** A folder of backups. Each backup is a folder of its own. */
export function folderOfBackups(folder: string): BackupPlace {
  const entries = () =>
    readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw new BackupError(`${folder} cannot be read (${error.code})`)
    })
  return {
    name: folder,

    // Only a complete backup has such a name. Names sort by time.
    names: async () => (await entries()).filter((name) => backupTimeOf(name) !== null).sort(),

    async receive(make) {
      const made = await make(folder)
      return { made, where: made.folder }
    },

    open: (name, work) => work(join(folder, name)),

    async remove(name) {
      await rename(join(folder, name), join(folder, name + unfinished))
      await rm(join(folder, name + unfinished), { recursive: true, force: true })
    },

    async removeUnfinished(beforeMs) {
      for (const name of await entries()) {
        const begunAt = name.endsWith(unfinished) ? backupTimeOf(name.slice(0, -unfinished.length)) : null
        if (begunAt !== null && begunAt < beforeMs) await rm(join(folder, name), { recursive: true, force: true })
      }
    },
  }
}
