import { composeWorkbench, type Workbench } from '../compose/compose-workbench.ts'
import { ConfigError } from '../settings/config.ts'
import { backendOf } from '../storage/backends.ts'
import type { Context } from './context.ts'

type Callers = 'one' | 'many'

/**
 * Opens the store, does the work, and always closes the store. Throws if there is no instance. Long reads need `many`
 * callers.
 */
export async function withInstance<T>(
  context: Context,
  work: (bench: Workbench) => Promise<T>,
  callers: Callers = 'one',
): Promise<T> {
  const config = context.config()
  if (!backendOf(config).isThere()) {
    throw new ConfigError([
      `there is no instance in ${config.dataDir}: give the folder of an instance with --data-dir or TIDEMARK_DATA_DIR, or create one with ` +
        'tidemark serve, start, apply, app create, collector create, import or restore',
    ])
  }
  return withWorkbench(context, work, callers)
}

/** Like `withInstance`, for commands that set up an instance: creates one if there is none. */
export async function withWorkbench<T>(
  context: Context,
  work: (bench: Workbench) => Promise<T>,
  callers: Callers = 'one',
): Promise<T> {
  const config = context.config()
  if (!backendOf(config).isThere()) {
    context.warn(
      `creating a new instance in ${config.dataDir}; to use another folder, set --data-dir or TIDEMARK_DATA_DIR`,
    )
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

/** Formats rows as aligned columns. Returns the text `none` for an empty list. */
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
