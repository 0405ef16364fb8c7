import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { reserveFile } from '../../data-folder.ts'
import { reserveBytes } from '../../disk-space.ts'

const pieceBytes = 65_536

/**
 * A file that is there to be given up. On a full disk it makes room for what must not wait until somebody has made some:
 * that a key is revoked takes a few pages of the store's log.
 */
export class DiskReserve {
  readonly path: string
  #isWhole = false
  #trouble: string | null = null

  constructor(dataDir: string) {
    this.path = join(dataDir, reserveFile)
  }

  /** As large as it should be, when it was kept last. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Why it cannot be kept, other than for want of room, in words for an operator. */
  get trouble(): string | null {
    return this.#trouble
  }

  /** Another process may have given it up since: a command that revoked a key. */
  doubt(): void {
    this.#isWhole = false
  }

  /** As large as it should be, or as there is room for. Never rejects: what was written before it stays written. */
  async keep(): Promise<void> {
    try {
      await this.#fill()
      this.#isWhole = true
      this.#trouble = null
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      this.#isWhole = false
      this.#trouble = code === 'ENOSPC' ? null : `the file "${reserveFile}" of the data folder cannot be kept (${code})`
    }
  }

  async giveUp(): Promise<void> {
    this.#isWhole = false
    const file = await open(this.path, 'w', 0o600)
    await file.close()
  }

  async #fill(): Promise<void> {
    const file = await open(this.path, 'a', 0o600)
    try {
      // What cannot be compressed, because some file systems do that.
      for (let { size } = await file.stat(); size < reserveBytes; size += pieceBytes) {
        await file.appendFile(randomBytes(Math.min(pieceBytes, reserveBytes - size)))
      }
    } finally {
      await file.close()
    }
  }
}
