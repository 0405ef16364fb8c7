import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { reserveFile } from '../../platform/data-folder.ts'
import { reserveBytes } from '../../platform/disk-space.ts'

const pieceBytes = 65_536

/**
 * A file that can be deleted to make room. On a full disk it lets urgent writes succeed: revoking a key takes a few
 * pages of the store's log.
 */
export class DiskReserve {
  readonly path: string
  #isWhole = false
  #trouble: string | null = null

  constructor(dataDir: string) {
    this.path = join(dataDir, reserveFile)
  }

  /** Whether the file had its full size when it was last kept. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Why it cannot be kept, other than for lack of space, as a text for operators. */
  get trouble(): string | null {
    return this.#trouble
  }

  /** Another process may have used the reserve since: a command that revoked a key. */
  doubt(): void {
    this.#isWhole = false
  }

  /** Restores the full size, or as much as there is room for. Never rejects: the part that was written stays. */
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
      // Incompressible data, because some file systems compress.
      for (let { size } = await file.stat(); size < reserveBytes; size += pieceBytes) {
        await file.appendFile(randomBytes(Math.min(pieceBytes, reserveBytes - size)))
      }
    } finally {
      await file.close()
    }
  }
}
