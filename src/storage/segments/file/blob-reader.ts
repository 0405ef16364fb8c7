import { DatabaseSync } from 'node:sqlite'
import { asDamage, checkedBytes, DamagedFile } from './damage.ts'

/** The number of bytes of a file that SQLite maps into memory at most. */
export const mapBytesMax = 2 ** 31 - 65_536

/** The pieces of a blob are numbered from its own number times this. */
export const piecesMax = 4096

export interface BlobRow {
  readonly blob: number
  readonly bytes: number
}

/** A connection of its own that reads blobs when the index is loaded. Each loading thread has one. */
export class BlobReader implements Disposable {
  readonly #path: string
  readonly #db: DatabaseSync

  constructor(path: string) {
    this.#path = path
    this.#db = new DatabaseSync(path, { readOnly: true })
    // Mapping the file saves one copy.
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
        // Released at once, because a thread that has loaded its index does not collect garbage soon.
        piece.buffer.transfer(0)
      }
      if (at !== bytes || at !== into.length) throw new DamagedFile(`blob ${blob} is truncated`)
    } catch (error) {
      throw asDamage(error, this.#path)
    }
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}
