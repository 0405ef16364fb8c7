import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { indexPath } from '../../src/storage/segments/file/index-files.ts'

/** Fills a data folder that has no index yet. Does so in another process, whose memory is not counted in this one. */
export function fillFolder(folder: string, chunks: number): void {
  if (existsSync(indexPath(folder, 1))) return
  const startedMs = performance.now()
  const script = new URL('./fill.ts', import.meta.url).pathname
  if (spawnSync(process.execPath, [script, folder, String(chunks)], { stdio: 'inherit' }).status !== 0) {
    throw new Error('the store could not be filled')
  }
  console.log(`filled in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
}
