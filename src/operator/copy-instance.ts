/**
 * Moves an instance from one store to another.
 *
 * A pass goes through every table in key order, in blocks. A block with the same row count and checksum on both sides
 * is skipped; any other block is copied. Nothing is remembered between passes: an interrupted pass is run again, and
 * skips the blocks that were already copied.
 *
 *   bulk     copies a snapshot of a source that is in use
 *   final    requires that nobody else uses the source; checks every block that it writes, and completes the copy
 *   compare  writes nothing
 *
 * Until a final pass has found every block equal, the target is marked as an unfinished copy.
 */
export type PassKind = 'bulk' | 'final' | 'compare'

export interface CopiedTable {
  readonly name: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
}

/** In the order of the table's columns. */
export type CopiedRow = readonly unknown[]

/** Keys above `after`, up to and including `through`; null means unbounded. */
export interface KeyRange {
  readonly after: CopiedRow | null
  readonly through: CopiedRow | null
}

export interface CopySource {
  count(table: string): number
  /** Rows in key order, with texts compared by their bytes. */
  rows(table: CopiedTable): Iterable<CopiedRow>
  /** The last generated number of the table's ascending key; 0 if there is none. */
  lastNumber(table: string): number
}

export interface CopyTarget {
  /** All tables to copy, each after those that it refers to. */
  readonly tables: readonly CopiedTable[]
  /** Makes a block: exactly the rows that the target should have in a range of keys. */
  block(table: CopiedTable, rows: readonly CopiedRow[], range: KeyRange): TargetBlock
  /** Continues generated numbers after those of the source, and removes the mark. */
  complete(lastNumber: (table: string) => number): Promise<void>
}

export interface TargetBlock {
  /** Compares the block with the rows of the target in that range. */
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
  /** Rows of the blocks that were copied. */
  readonly copiedRows: number
  /** Remaining differences, as texts. Always empty in a bulk pass. */
  readonly differences: readonly string[]
}

/** Why a copy is not possible, as a sentence for the operator. */
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
  let copiedRows = 0

  const syncBlock = async (table: CopiedTable, expected: number, range: KeyRange, block: TargetBlock) => {
    let found = await block.compare()
    if (!found.same && kind !== 'compare') {
      await block.put()
      copiedRows += expected
      if (kind === 'final') found = await block.compare()
    }
    if (!found.same && kind !== 'bulk') differences.push(inWords(table, expected, found.rows, range))
    done += expected
    report({ table: table.name, done, total })
  }

  for (const table of target.tables) {
    let working = Promise.resolve()
    try {
      for (const { rows: expected, range } of blocksOf(source, table)) {
        // The block is prepared while the target still works on the previous one.
        const block = target.block(table, expected, range)
        await working
        working = syncBlock(table, expected.length, range, block)
        working.catch(() => {})
      }
    } finally {
      await working
    }
  }
  if (kind === 'final' && differences.length === 0) await target.complete((table) => source.lastNumber(table))
  return { rows, copiedRows, differences }
}

/** The blocks cover the whole table: the last one has no upper bound. */
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

function inWords(table: CopiedTable, expected: number, found: number, { after, through }: KeyRange): string {
  const key = (row: CopiedRow | null) => (row === null ? null : row.join(' '))
  const bounds = [after && `after ${key(after)}`, through && `through ${key(through)}`].filter((part) => part !== null)
  const where = bounds.length === 0 ? '' : ` (${table.key.join(' ')} ${bounds.join(', ')})`
  const what = expected === found ? `${expected} rows are not all the same` : `${found} rows instead of ${expected}`
  return `${table.name}: ${what}${where}`
}
