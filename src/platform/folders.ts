import { chown, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * Creates a folder with its parents, unless it exists. It goes step by step, because Node's `recursive` option never
 * returns on a file system that reports an existing parent as missing, as /proc does.
 */
export async function makeFolder(path: string): Promise<void> {
  let fault = await tryMkdir(path)
  if (fault?.code === 'ENOENT') {
    await makeFolder(dirname(path))
    fault = await tryMkdir(path)
  }
  if (fault !== null) throw fault
}

async function tryMkdir(path: string): Promise<NodeJS.ErrnoException | null> {
  try {
    await mkdir(path)
    return null
  } catch (error) {
    return (await isFolder(path)) ? null : (error as NodeJS.ErrnoException)
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

/** Gives files that root has created in a folder to the owner of the folder, whose server writes them. */
export async function giveToOwner(folder: string, paths: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(folder)
  for (const path of paths) await chown(path, uid, gid)
}

/**
 * Runs work with an empty folder below TMPDIR, readable only by this user. It is deleted with its content afterwards.
 */
export async function inScratch<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
