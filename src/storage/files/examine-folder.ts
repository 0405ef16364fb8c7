import { access, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

interface FolderTrouble {
  /** Continues the sentence "artifacts cannot be kept: …". Names no path. */
  readonly about: string
  readonly advice: string
}

/**
 * The reason why a folder cannot be created or files cannot be written to it; null if there is none. Creates nothing,
 * but checks the folder or its nearest existing parent.
 */
export async function folderTrouble(folder: string): Promise<FolderTrouble | null> {
  const elsewhere = 'or name another folder or a bucket in TIDEMARK_ARTIFACTS_URL'
  try {
    if (!(await stat(folder)).isDirectory()) {
      return { about: 'there is a file where their folder should be', advice: `move that file away, ${elsewhere}` }
    }
    await access(folder, constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && dirname(folder) !== folder) return folderTrouble(dirname(folder))
    if (code === 'ENOTDIR') {
      return { about: 'a part of the path of their folder is a file', advice: `move that file away, ${elsewhere}` }
    }
    const user = process.getuid?.()
    const rights = user === undefined ? 'let this user write to it' : `give it to user ${user} (chown ${user})`
    return {
      about: `this user${user === undefined ? '' : ` (${user})`} cannot write to their folder (${code})`,
      advice: `${rights} and make sure that its disk is not mounted read-only, ${elsewhere}`,
    }
  }
}
