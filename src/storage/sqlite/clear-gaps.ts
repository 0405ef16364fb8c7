import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** What was deleted is nowhere between the cells of a page (`page-gaps.ts`) of the database file, which may be in use. */
export async function clearGaps(path: string): Promise<void> {
  const program = fileURLToPath(new URL('./clear-gaps-process.ts', import.meta.url))
  await promisify(execFile)(process.execPath, [program, path], { env: {} })
}
