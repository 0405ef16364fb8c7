import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { InspectedIndex } from '../../../search/index-home.ts'
import { indexPath, readPointer } from './index-files.ts'

/** How far the index in a data folder has come and what it takes, read beside a server that may have it open. */
export async function inspectIndex(dataDir: string): Promise<InspectedIndex | null> {
  const pointer = await readPointer(dataDir)
  if (pointer === null) return null
  const path = indexPath(dataDir, pointer.generation)
  if (!existsSync(path)) return null
  const bytes = [path, `${path}-wal`].reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0)
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const row = db.prepare('select data from state order by id desc limit 1').get() as { data: string } | undefined
    const state: unknown = row === undefined ? null : JSON.parse(row.data)
    const position = (state as { position?: unknown } | null)?.position
    return { position: typeof position === 'number' ? position : 0, bytes }
  } catch {
    // Damaged: the server notices by checksum and builds it anew, so everything counts as still to be indexed.
    return { position: 0, bytes }
  } finally {
    db.close()
  }
}
