import { chown, stat } from 'node:fs/promises'

/** What a command of root makes in the folder of another user is that user's: the server there has to write it. */
export async function giveToOwner(folder: string, paths: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(folder)
  for (const path of paths) await chown(path, uid, gid)
}
