import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * Removes deleted data from the unallocated space of the pages (`page-gaps.ts`) of a database file, which may be in
 * use.
 */
export async function clearGaps(path: string): Promise<void> {
  const program = fileURLToPath(new URL('./clear-gaps-process.ts', import.meta.url))
  await promisify(execFile)(process.execPath, [program, path], { env: {} })
}
