import { hash } from 'node:crypto'
import pg from 'pg'

const { BYTEA, FLOAT8, INT2, INT4, INT8, TEXT } = pg.types.builtins

const isNull = -1

/**
 * Rows in PostgreSQL's binary format, as its function record_send writes them: the number of columns, then type, length
 * (-1 for null) and bytes of each. The same values give the same bytes here and on the server, and so the same
 * checksum.
 */
export class BinaryRows {
  #types: readonly number[]
  #bytes = Buffer.allocUnsafe(2 ** 16)
  #used = 0
  #ends: number[] = []

  constructor(types: readonly number[], rows: readonly (readonly unknown[])[]) {
    this.#types = types
    for (const row of rows) this.#add(row)
  }

  /** The same digest as `digestExpression` in SQL: over the checksums of the rows, in order. */
  digest(): Buffer {
    const digests = Buffer.allocUnsafe(this.#ends.length * 32)
    let start = 0
    for (const [i, end] of this.#ends.entries()) {
      hash('sha256', this.#bytes.subarray(start, end), 'buffer').copy(digests, i * 32)
      start = end
    }
    return hash('sha256', digests, 'buffer')
  }

  #add(row: readonly unknown[]): void {
    this.#reserve(4)
    this.#used = this.#bytes.writeInt32BE(row.length, this.#used)
    for (const [i, value] of row.entries()) {
      this.#reserve(8 + roomFor(value))
      const type = this.#types[i]!
      const at = this.#bytes.writeInt32BE(type, this.#used) + 4
      const length = value === null ? isNull : writeValue(this.#bytes, at, type, value)
      this.#bytes.writeInt32BE(length, at - 4)
      this.#used = at + Math.max(0, length)
    }
    this.#ends.push(this.#used)
  }

  #reserve(more: number): void {
    if (this.#used + more <= this.#bytes.length) return
    const wider = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#used + more))
    this.#bytes.copy(wider, 0, 0, this.#used)
    this.#bytes = wider
  }
}

/** The SQL expression that equals `BinaryRows.digest` of the same columns in the same row order. */
export function digestExpression(columns: string, order: string): string {
  const digests = `string_agg(sha256(record_send(row(${columns}))), ''::bytea order by ${order})`
  return `sha256(coalesce(${digests}, ''::bytea))`
}

/** The most bytes that a value may take: three per UTF-16 unit, eight per number. */
export function roomFor(value: unknown): number {
  if (typeof value === 'string') return value.length * 3
  return value instanceof Uint8Array ? value.byteLength : 8
}

/** Returns the number of bytes written. */
export function writeValue(bytes: Buffer, at: number, type: number, value: unknown): number {
  if (type === TEXT && typeof value === 'string') return bytes.write(value, at)
  if (type === BYTEA && value instanceof Uint8Array) {
    bytes.set(value, at)
    return value.byteLength
  }
  if (typeof value === 'number') {
    if (type === FLOAT8) return bytes.writeDoubleBE(value, at) - at
    if (Number.isSafeInteger(value)) {
      if (type === INT2) return bytes.writeInt16BE(value, at) - at
      if (type === INT4) return bytes.writeInt32BE(value, at) - at
      if (type === INT8) {
        const high = Math.floor(value / 2 ** 32)
        bytes.writeInt32BE(high, at)
        return bytes.writeUInt32BE(value - high * 2 ** 32, at + 4) - at
      }
    }
  }
  throw new Error(`a ${typeof value} cannot be written as PostgreSQL's type ${type}`)
}
