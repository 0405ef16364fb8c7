import { DatabaseSync } from 'node:sqlite'
import { asDamage, checkedBytes, DamagedFile } from './damage.ts'

/** Of a file as memory: the most that SQLite takes. */
export const mapBytesMax = 2 ** 31 - 65_536

/** A blob's pieces have the numbers from this many times its own on. */
export const piecesMax = 4096

export interface BlobRow {
  readonly blob: number
  readonly bytes: number
}

/** A connection of its own for all that is read when an index is loaded: a thread each may have one. */
export class BlobReader implements Disposable {
  readonly #path: string
  readonly #db: DatabaseSync

  constructor(path: string) {
    this.#path = path
    this.#db = new DatabaseSync(path, { readOnly: true })
    // As memory: there is one copy less to be made.
    this.#db.exec(`pragma mmap_size = ${mapBytesMax}`)
  }

  read({ blob, bytes }: BlobRow, into: Uint8Array<ArrayBufferLike>): void {
    try {
      const read = this.#db.prepare('select data, crc from piece where id between ? and ? order by id')
      let at = 0
      for (const row of read.iterate(blob * piecesMax, blob * piecesMax + piecesMax - 1)) {
        const piece = checkedBytes('piece', row.data, row.crc)
        if (at + piece.length > into.length) throw new DamagedFile(`blob ${blob} is too long`)
        into.set(piece, at)
        at += piece.length
        // Given back at once: a thread that has loaded its index has no reason to collect garbage, and would keep it.
        piece.buffer.transfer(0)
      }
      if (at !== bytes || at !== into.length) throw new DamagedFile(`blob ${blob} is cut short`)
    } catch (error) {
      throw asDamage(error, this.#path)
    }
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}
