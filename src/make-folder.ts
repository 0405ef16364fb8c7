import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * A folder with those above it; one that is there is fine. Step by step, because node's own `recursive` never ends where
 * a file system says of a folder in a folder that is there that it cannot be found, as /proc does.
 */
export async function makeFolder(path: string): Promise<void> {
  let fault = await tried(path)
  if (fault?.code === 'ENOENT') {
    await makeFolder(dirname(path))
    fault = await tried(path)
  }
  if (fault !== null) throw fault
}

async function tried(path: string): Promise<NodeJS.ErrnoException | null> {
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
