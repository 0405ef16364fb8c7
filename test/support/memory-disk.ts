import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk in memory. A small one can be filled to its last byte and be given room again; none is ever waited for. */
export class MemoryDisk {
  readonly folder: string
  #mounted = true

  /** null where this user may not mount: then a test must leave out what needs it, and say so. */
  static mount(megabytes: number): MemoryDisk | null {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-memory-disk-'))
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0777`, 'tmpfs', folder], { stdio: 'ignore' })
    } catch {
      rmSync(folder, { recursive: true })
      return null
    }
    return new MemoryDisk(folder)
  }

  private constructor(folder: string) {
    this.folder = folder
    process.on('exit', () => this.remove())
  }

  fill(): void {
    const file = openSync(join(this.folder, 'ballast'), 'a')
    for (let bytes = 1 << 20; bytes > 0; bytes >>= 1) {
      try {
        for (;;) writeSync(file, Buffer.alloc(bytes))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
    closeSync(file)
  }

  makeRoom(): void {
    rmSync(join(this.folder, 'ballast'), { force: true })
  }

  remove(): void {
    if (!this.#mounted) return
    this.#mounted = false
    // Lazily: what a server still has open goes with it.
    execFileSync('umount', ['--lazy', this.folder])
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export const leftOutWithoutMount = 'left out: this user may not mount a small disk to fill'
