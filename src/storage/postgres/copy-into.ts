import pg from 'pg'
import { roomFor, writeValue } from './binary-rows.ts'

const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const isNull = -1
const isEnd = -1

/**
 * Writes rows with COPY: the server parses and plans no statement, and takes values in their stored form. `target`
 * names the table and its columns; `types` are the type numbers of PostgreSQL for them.
 */
export function copyInto(
  client: pg.ClientBase,
  target: string,
  types: readonly number[],
  rows: readonly (readonly unknown[])[],
): Promise<void> {
  const bytes = copiedBytes(types, rows)
  return new Promise((resolve, reject) => {
    const done = (error: Error | null) => (error ? reject(error) : resolve())
    client.query(new CopyIn(`copy ${target} from stdin (format binary)`, bytes, done))
  })
}

/** The number of columns of each row, then length and bytes of each value. */
function copiedBytes(types: readonly number[], rows: readonly (readonly unknown[])[]): Buffer {
  let most = header.length + 2
  for (const row of rows) {
    most += 2
    for (const value of row) most += 4 + roomFor(value)
  }
  const bytes = Buffer.allocUnsafe(most)
  let at = header.copy(bytes)
  for (const row of rows) {
    at = bytes.writeInt16BE(row.length, at)
    for (const [i, value] of row.entries()) {
      const length = value === null ? isNull : writeValue(bytes, at + 4, types[i]!, value)
      at = bytes.writeInt32BE(length, at) + Math.max(0, length)
    }
  }
  return bytes.subarray(0, bytes.writeInt16BE(isEnd, at))
}

/** Methods that the driver's types lack. */
interface Sending {
  query(text: string): void
  sendCopyFromChunk(bytes: Buffer): void
  endCopyFrom(): void
}

/**
 * The driver does not implement sending for COPY … FROM STDIN. The data is sent with the statement, so that more can
 * follow at once; if the server refuses the statement, it skips the data.
 */
class CopyIn extends pg.Query {
  override submit: (connection: pg.Connection) => void

  constructor(text: string, bytes: Buffer, done: (error: Error | null) => void) {
    super(text, done as never)
    this.submit = (connection) => {
      const sending = connection as unknown as Sending
      sending.query(text)
      sending.sendCopyFromChunk(bytes)
      sending.endCopyFrom()
    }
  }

  handleCopyInResponse(): void {}
}
