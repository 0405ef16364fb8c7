import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../support/until.ts'
import { freshFolder, type TestServer, tidemark } from './harness.ts'

/** A folder that does not exist yet. */
export const absentFolder = (): string => join(freshFolder(), 'data')

export async function backedUp(server: TestServer, into: string = freshFolder()): Promise<string> {
  const { code, stdout, stderr } = await server.tidemark(['backup', into])
  assert.equal(code, 0, stderr)
  const folder = / are in (.*)$/m.exec(stdout)![1]!
  assert.match(folder, /\/tidemark-backup-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/)
  assert.deepEqual(readdirSync(into), [folder.slice(into.length + 1)])
  return folder
}

export async function restored(from: string, dataDir: string, ...options: string[]): Promise<void> {
  const { code, stdout, stderr } = await tidemark(['restore', from, ...options], { dataDir })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /documents and \d+ events of .* are in /)
}

/**
 * Waits for the mark beside the store, which is written about a second after the store. A loss before that may go
 * unnoticed.
 */
export async function markedThrough(server: TestServer, sequence: number): Promise<void> {
  const path = join(server.dataDir, 'history.json')
  await until(
    `event ${sequence} is marked`,
    async () => existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).lastEvent?.sequence === sequence,
  )
}
