import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk in memory (tmpfs). A small one can be filled to its last byte and freed again. */
export class MemoryDisk {
  readonly folder: string
  #mounted = true

  /** Returns null if this user may not mount. The test must then skip what needs the disk, and report it. */
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

  makeReadOnly(): void {
    execFileSync('mount', ['-o', 'remount,ro', this.folder])
  }

  makeRoom(): void {
    rmSync(join(this.folder, 'ballast'), { force: true })
  }

  remove(): void {
    if (!this.#mounted) return
    this.#mounted = false
    // A lazy unmount succeeds even if a server still has files open.
    execFileSync('umount', ['--lazy', this.folder])
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export const skippedWithoutMount = 'skipped: this user may not mount a small disk to fill'
