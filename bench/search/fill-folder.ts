import { spawnSync } from 'node:child_process'

/** In another process, so that its memory is not ours. */
export function fill(folder: string, chunks: number): void {
  const startedMs = performance.now()
  const script = new URL('./fill.ts', import.meta.url).pathname
  if (spawnSync(process.execPath, [script, folder, String(chunks)], { stdio: 'inherit' }).status !== 0) {
    throw new Error('the store could not be filled')
  }
  console.log(`filled in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
}
