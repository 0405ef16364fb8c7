import { composeWorkbench, type Workbench } from '../compose-workbench.ts'
import type { Context } from './context.ts'

/** Opens the store, does the work, closes it whatever happens. `many` for work that reads for long. */
export async function withWorkbench<T>(
  context: Context,
  work: (bench: Workbench) => Promise<T>,
  callers: 'one' | 'many' = 'one',
): Promise<T> {
  const bench = await composeWorkbench(context.config(), callers)
  try {
    return await work(bench)
  } finally {
    await bench.close()
  }
}

/** The name under which the audit log keeps what was done from here. */
export const commandLineActor = 'command-line'

/** Rows as aligned columns; an empty list says so. */
export function alignedTable(rows: readonly Readonly<Record<string, string>>[], none: string): string {
  if (rows.length === 0) return none
  const columns = Object.keys(rows[0]!)
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd()
  return [line(columns), ...rows.map((row) => line(columns.map((column) => row[column]!)))].join('\n')
}
