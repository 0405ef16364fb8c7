import { existsSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Finding } from '../../../operator/examine.ts'
import type { InspectedIndex } from '../../../search/index-home.ts'
import type { SegmentRow } from './durable-file.ts'
import { type IndexOrigin, indexPath, isOfOrigin, readPointer } from './index-files.ts'

/** How far the index in a data folder has come, read beside a server that may have it open. */
export async function readPosition(dataDir: string, origin: IndexOrigin): Promise<number | null> {
  const path = await servedPath(dataDir, origin)
  if (path === null) return null
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return positionIn(db)
  } finally {
    db.close()
  }
}

/** How far the index in a data folder has come and what it takes, read beside a server that may have it open. */
export async function inspectIndex(dataDir: string, origin: IndexOrigin): Promise<InspectedIndex | null> {
  const path = await servedPath(dataDir, origin)
  if (path === null) return null
  const bytes = [path, `${path}-wal`].reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0)
  const found = { bytes, findings: ownerFindings(dataDir, path) }
  let db: DatabaseSync
  try {
    db = new DatabaseSync(path, { readOnly: true })
  } catch (error) {
    const unopened: Finding = { state: 'failure', about: cannotOpen(path, error), advice: `remove ${basename(path)}` }
    return { ...found, position: 0, chunks: 0, findings: [unopened] }
  }
  try {
    // One moment of it: a server may write meanwhile.
    db.exec('begin')
    return { ...found, position: positionIn(db) ?? 0, chunks: chunksIn(db) }
  } catch {
    // Damaged: the server notices by checksum and builds it anew, so everything counts as still to be indexed.
    return { ...found, position: 0, chunks: 0 }
  } finally {
    db.close()
  }
}

async function servedPath(dataDir: string, origin: IndexOrigin): Promise<string | null> {
  const pointer = await readPointer(dataDir)
  if (pointer === null || !isOfOrigin(pointer, origin)) return null
  const path = indexPath(dataDir, pointer.generation)
  return existsSync(path) ? path : null
}

function positionIn(db: DatabaseSync): number | null {
  const row = db.prepare('select data from state order by id desc limit 1').get() as { data: string } | undefined
  const state: unknown = row === undefined ? null : JSON.parse(row.data)
  const position = (state as { position?: unknown } | null)?.position
  return typeof position === 'number' ? position : null
}

export const cannotOpen = (path: string, error: unknown): string =>
  `the search index ${basename(path)} in the data folder cannot be opened: ${(error as Error).message}; once it is removed it is made anew from the store`

/** Whoever looks may be root, who can write anything; the server is mostly the user whose folder it is. */
function ownerFindings(dataDir: string, path: string): readonly Finding[] {
  const owner = statSync(dataDir).uid
  const maker = statSync(path).uid
  if (owner === maker) return []
  const about = `the search index ${basename(path)} belongs to user ${maker}, the data folder to user ${owner}: a server of that user cannot write it`
  return [{ state: 'warning', about, advice: `chown ${owner} ${JSON.stringify(path)}*` }]
}

/** Of dead chunks the file has a number for as long as a segment holds them. */
function chunksIn(db: DatabaseSync): number {
  const rows = db.prepare('select data from segment').all() as { data: string }[]
  const held = rows.reduce((sum, { data }) => sum + (JSON.parse(data) as SegmentRow).chunks, 0)
  const { dead } = db.prepare('select count(*) as dead from death').get() as { dead: number }
  return held - dead
}
