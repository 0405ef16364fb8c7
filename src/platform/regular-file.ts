import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/**
 * Opens files that are expected in a folder, such as the manifest of a backup. Opening a named pipe would wait forever,
 * so files are opened without blocking, and a pipe is refused. Do not use this for a file that a person names, which
 * may be a pipe.
 */
const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK

class NotRegular extends Error {
  readonly code: string

  constructor(path: string, code: string) {
    super(`${path} is not a regular file`)
    this.code = code
  }
}

export async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, withoutWaiting)
  const found = await file.stat()
  if (found.isFile()) return file
  await file.close()
  throw new NotRegular(path, found.isDirectory() ? 'EISDIR' : 'NOT_REGULAR')
}

export async function readRegular(path: string): Promise<Buffer<ArrayBuffer>> {
  const file = await openRegular(path)
  try {
    return await file.readFile()
  } finally {
    await file.close()
  }
}

export const readRegularText = async (path: string): Promise<string> => (await readRegular(path)).toString()
