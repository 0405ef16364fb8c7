/**
 * Moves an instance from one store to another.
 *
 * A pass goes through every table in the order of its key, in blocks. Rows of a block that are the same on both sides,
 * told by count and checksum, are left alone; any other block is brought into line. Nothing is remembered between
 * passes: one that was stopped at any moment is run again, and passes over what it had brought.
 *
 *   bulk     the source is in use and changes meanwhile: brings what it has at one moment
 *   final    nobody else has the source: looks again at every block that it wrote, and completes the copy
 *   compare  writes nothing
 *
 * Until a final pass has found every block the same, the target is marked as a copy that is not finished.
 */
export type PassKind = 'bulk' | 'final' | 'compare'

export interface CopiedTable {
  readonly name: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
}

/** In the order of the table's columns. */
export type CopiedRow = readonly unknown[]

/** Keys after the one, through the other; null where nothing bounds it. */
export interface KeyRange {
  readonly after: CopiedRow | null
  readonly through: CopiedRow | null
}

export interface CopySource {
  count(table: string): number
  /** In the order of the key, by the bytes of texts. */
  rows(table: CopiedTable): Iterable<CopiedRow>
  /** The last number that the table's ascending key gave out; 0 where it has given out none. */
  lastNumber(table: string): number
}

export interface CopyTarget {
  /** All that are copied, each after those that it refers to. */
  readonly tables: readonly CopiedTable[]
  /** The rows that the target should have in a range of keys, and no others. */
  block(table: CopiedTable, rows: readonly CopiedRow[], range: KeyRange): TargetBlock
  /** Goes on giving out numbers where the source stopped, and takes the mark away. */
  complete(lastNumber: (table: string) => number): Promise<void>
}

export interface TargetBlock {
  /** What the target has in that range. */
  compare(): Promise<{ readonly rows: number; readonly same: boolean }>
  put(): Promise<void>
}

export interface CopyProgress {
  readonly table: string
  readonly done: number
  readonly total: number
}

export interface CopyResult {
  readonly rows: Readonly<Record<string, number>>
  /** Rows of blocks that were not the same. */
  readonly brought: number
  /** What is not the same at the end, in words. Never in a bulk pass. */
  readonly differences: readonly string[]
}

/** Why a copy is not made, in a sentence for the operator. */
export class CopyError extends Error {}

const blockRowsMax = 2000
const blockSizeMax = 4 * 2 ** 20

export async function copyInstance(
  source: CopySource,
  target: CopyTarget,
  kind: PassKind,
  report: (progress: CopyProgress) => void,
): Promise<CopyResult> {
  const rows = Object.fromEntries(target.tables.map(({ name }) => [name, source.count(name)]))
  const total = Object.values(rows).reduce((sum, count) => sum + count, 0)
  const differences: string[] = []
  let done = 0
  let brought = 0

  const bringIntoLine = async (table: CopiedTable, wanted: number, range: KeyRange, block: TargetBlock) => {
    let found = await block.compare()
    if (!found.same && kind !== 'compare') {
      await block.put()
      brought += wanted
      if (kind === 'final') found = await block.compare()
    }
    if (!found.same && kind !== 'bulk') differences.push(inWords(table, wanted, found.rows, range))
    done += wanted
    report({ table: table.name, done, total })
  }

  for (const table of target.tables) {
    let working = Promise.resolve()
    try {
      for (const { rows: wanted, range } of blocksOf(source, table)) {
        // Made while the target still works on the one before.
        const block = target.block(table, wanted, range)
        await working
        working = bringIntoLine(table, wanted.length, range, block)
        working.catch(() => {})
      }
    } finally {
      await working
    }
  }
  if (kind === 'final' && differences.length === 0) await target.complete((table) => source.lastNumber(table))
  return { rows, brought, differences }
}

/** Together they are the whole table: the last one reaches to the end of all keys. */
function* blocksOf(source: CopySource, table: CopiedTable): Iterable<{ rows: readonly CopiedRow[]; range: KeyRange }> {
  const keyColumns = table.key.map((column) => table.columns.indexOf(column))
  let after: CopiedRow | null = null
  let rows: CopiedRow[] = []
  let size = 0
  for (const row of source.rows(table)) {
    rows.push(row)
    size += sizeOf(row)
    if (rows.length < blockRowsMax && size < blockSizeMax) continue
    const through = keyColumns.map((column) => row[column])
    yield { rows, range: { after, through } }
    after = through
    rows = []
    size = 0
  }
  yield { rows, range: { after, through: null } }
}

function sizeOf(row: CopiedRow): number {
  let size = 0
  for (const value of row) {
    if (typeof value === 'string') size += value.length
    else if (value instanceof Uint8Array) size += value.byteLength
  }
  return size
}

function inWords(table: CopiedTable, wanted: number, found: number, { after, through }: KeyRange): string {
  const key = (row: CopiedRow | null) => (row === null ? null : row.join(' '))
  const place = [after && `after ${key(after)}`, through && `through ${key(through)}`].filter((part) => part !== null)
  const where = place.length === 0 ? '' : ` (${table.key.join(' ')} ${place.join(', ')})`
  const what = wanted === found ? `${wanted} rows are not all the same` : `${found} rows instead of ${wanted}`
  return `${table.name}: ${what}${where}`
}
