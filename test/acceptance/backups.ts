import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { freshFolder, type TestServer, tidemark } from './harness.ts'

/** What the tests of backups share: a folder that does not exist yet. */
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
