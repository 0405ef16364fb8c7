import { randomBytes } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { reserveFile } from '../../data-folder.ts'

const reserveBytes = 1_048_576
const pieceBytes = 65_536

/**
 * A file that is there to be given up. On a full disk it makes room for what must not wait until somebody has made some:
 * that a key is revoked takes a few pages of the store's log.
 */
export class DiskReserve {
  readonly #path: string

  constructor(dataDir: string) {
    this.#path = join(dataDir, reserveFile)
  }

  /** As large as it should be, or as there is room for. */
  async keep(): Promise<void> {
    const file = await open(this.#path, 'a', 0o600)
    try {
      // What cannot be compressed, because some file systems do that.
      for (let { size } = await file.stat(); size < reserveBytes; size += pieceBytes) {
        await file.appendFile(randomBytes(pieceBytes))
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    } finally {
      await file.close()
    }
  }

  async giveUp(): Promise<void> {
    await rm(this.#path, { force: true })
  }
}
