import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { reserveFile } from '../../platform/data-folder.ts'
import { reserveBytes } from '../../platform/disk-space.ts'

const pieceBytes = 65_536

/**
 * A file that can be truncated to make room. On a full disk it lets urgent writes succeed: revoking a key takes a few
 * pages of the store's log.
 */
export class DiskReserve {
  readonly path: string
  #isWhole = false
  #problem: string | null = null

  constructor(dataDir: string) {
    this.path = join(dataDir, reserveFile)
  }

  /** Whether the file had its full size when it was last refilled. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Why the file cannot be refilled, other than for lack of space, as a message for operators. */
  get problem(): string | null {
    return this.#problem
  }

  /** Called when another process may have used the reserve, such as a command that revokes a key. */
  invalidate(): void {
    this.#isWhole = false
  }

  /** Restores the full size, or as much as there is room for. Never rejects: the part that was written stays. */
  async refill(): Promise<void> {
    try {
      await this.#fill()
      this.#isWhole = true
      this.#problem = null
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      this.#isWhole = false
      this.#problem = code === 'ENOSPC' ? null : `the file "${reserveFile}" of the data folder cannot be kept (${code})`
    }
  }

  /** Truncates the file, which frees its space. */
  async release(): Promise<void> {
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
