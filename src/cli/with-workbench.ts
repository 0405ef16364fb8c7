import { composeWorkbench, type Workbench } from '../compose/compose-workbench.ts'
import { ConfigError } from '../settings/config.ts'
import { backendOf } from '../storage/backends.ts'
import type { Context } from './context.ts'

type Callers = 'one' | 'many'

/**
 * Opens the store, does the work, and always closes the store. Does not create a missing instance. `many` is for long
 * reads.
 */
export async function withInstance<T>(
  context: Context,
  work: (bench: Workbench) => Promise<T>,
  callers: Callers = 'one',
): Promise<T> {
  const config = context.config()
  if (!backendOf(config).isThere()) {
    throw new ConfigError([
      `there is no instance in ${config.dataDir}: name the folder of an instance by --data-dir or TIDEMARK_DATA_DIR, or create one with ` +
        'tidemark serve, start, apply, app create, collector create, import or restore',
    ])
  }
  return withWorkbench(context, work, callers)
}

/** Like `withInstance`, for commands that set an instance up: creates a missing one. */
export async function withWorkbench<T>(
  context: Context,
  work: (bench: Workbench) => Promise<T>,
  callers: Callers = 'one',
): Promise<T> {
  const config = context.config()
  if (!backendOf(config).isThere()) {
    context.warn(`creating a new instance in ${config.dataDir}; --data-dir or TIDEMARK_DATA_DIR names another folder`)
  }
  const bench = await composeWorkbench(config, callers)
  try {
    return await work(bench)
  } finally {
    await bench.close()
  }
}

/** The actor of command-line changes in the audit log. */
export const commandLineActor = 'command-line'

/** Rows as aligned columns, or the text `none` for an empty list. */
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
