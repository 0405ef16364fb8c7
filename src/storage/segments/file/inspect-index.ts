import { existsSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { InspectedIndex } from '../../../indexing/index-home.ts'
import { type Finding, failure } from '../../../operator/examine.ts'
import { refusePipe } from '../../full-disk.ts'
import { adviceOtherThanRestore } from '../../sqlite-advice.ts'
import type { SegmentRow } from './durable-file.ts'
import { type IndexOrigin, indexPath, servedPointer } from './index-files.ts'

/** Returns the position of the index in a data folder. A server may have the index open. */
export async function readPosition(dataDir: string, origin: IndexOrigin): Promise<number | null> {
  const path = await servedPath(dataDir, origin)
  if (path === null) return null
  refusePipe(path)
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return positionIn(db)
  } finally {
    db.close()
  }
}

/** Returns the position and the size of the index in a data folder. A server may have the index open. */
export async function inspectIndex(dataDir: string, origin: IndexOrigin): Promise<InspectedIndex | null> {
  const path = await servedPath(dataDir, origin).catch((error: Error) => {
    const advice = 'let this user read it, or remove it: the index is then rebuilt from the store'
    throw new Error(`${error.message}; ${advice}`, { cause: error })
  })
  if (path === null) return null
  const found = { bytes: fileBytes(path), findings: ownerFindings(dataDir, path) }
  let db: DatabaseSync
  try {
    refusePipe(path)
    db = new DatabaseSync(path, { readOnly: true })
  } catch (error) {
    return {
      ...found,
      position: 0,
      chunks: 0,
      findings: [failure(cannotOpen(path, error), `remove ${basename(path)}`)],
    }
  }
  try {
    // One transaction, because a server may write meanwhile.
    db.exec('begin')
    return { ...found, position: positionIn(db) ?? 0, chunks: chunksIn(db) }
  } catch {
    // The file is damaged. The server will notice that by the checksums and rebuild it, so everything is still to be
    // indexed.
    return { ...found, position: 0, chunks: 0 }
  } finally {
    db.close()
  }
}

export const fileBytes = (path: string): number =>
  [path, `${path}-wal`].reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0)

async function servedPath(dataDir: string, origin: IndexOrigin): Promise<string | null> {
  const pointer = await servedPointer(dataDir, origin)
  if (pointer === null) return null
  const path = indexPath(dataDir, pointer.generation)
  return existsSync(path) ? path : null
}

function positionIn(db: DatabaseSync): number | null {
  const row = db.prepare('select data from state order by id desc limit 1').get() as { data: string } | undefined
  const state: unknown = row === undefined ? null : JSON.parse(row.data)
  const position = (state as { position?: unknown } | null)?.position
  return typeof position === 'number' ? position : null
}

export function cannotOpen(path: string, error: unknown): string {
  const advice = adviceOtherThanRestore(error)
  const otherwise = advice === null ? '' : `${advice}; otherwise `
  return `the search index ${basename(path)} in the data folder cannot be opened: ${(error as Error).message}; ${otherwise}if you remove it, it is rebuilt from the store`
}

/** Checks the owners only, because this process may be root, which can write anything. */
function ownerFindings(dataDir: string, path: string): readonly Finding[] {
  const owner = statSync(dataDir).uid
  const maker = statSync(path).uid
  if (owner === maker) return []
  const about = `the search index ${basename(path)} belongs to user ${maker}, but the data folder to user ${owner}: a server that runs as user ${owner} cannot write the index`
  return [{ state: 'warning', about, advice: `chown ${owner} ${JSON.stringify(path)}*` }]
}

/** The table `death` lists a deleted chunk as long as a segment contains it. */
function chunksIn(db: DatabaseSync): number {
  const rows = db.prepare('select data from segment').all() as { data: string }[]
  const chunks = rows.reduce((sum, { data }) => sum + (JSON.parse(data) as SegmentRow).chunks, 0)
  const { deleted } = db.prepare('select count(*) as deleted from death').get() as { deleted: number }
  return chunks - deleted
}
