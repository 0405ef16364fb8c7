import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { historyMarkFile } from '../platform/data-folder.ts'
import { storageFull } from '../platform/disk-space.ts'
import { giveToOwner } from '../platform/folders.ts'
import { readRegularText } from '../platform/regular-file.ts'
import type { HistoryMark } from './history-store.ts'

/**
 * The newest entries of the store when the mark was last written. The mark is kept beside the store: a store that was
 * rolled back lacks these entries. A missing, old or truncated mark does no harm.
 */
export async function readHistoryMark(dataDir: string): Promise<HistoryMark | null> {
  try {
    const read: unknown = JSON.parse(await readRegularText(join(dataDir, historyMarkFile)))
    return isMark(read) ? read : null
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (error instanceof SyntaxError || noMark.includes(code)) return null
    throw error
  }
}

/**
 * The error codes for a missing file, or for something other than a regular file. Writing the mark then replaces it or
 * fails.
 */
const noMark: readonly string[] = ['ENOENT', 'EISDIR', 'ELOOP', 'NOT_REGULAR', 'ENXIO']

function isMark(read: unknown): read is HistoryMark {
  if (typeof read !== 'object' || read === null) return false
  const { instance, historyId, lastEvent, lastAudit } = read as Record<keyof HistoryMark, unknown>
  if (![instance, historyId, lastAudit].every((one) => one === null || typeof one === 'string')) return false
  if (lastEvent === null) return true
  const { sequence, mark } = (lastEvent ?? {}) as Record<string, unknown>
  return Number.isSafeInteger(sequence) && typeof mark === 'string'
}

export async function writeHistoryMark(dataDir: string, mark: HistoryMark): Promise<void> {
  const path = join(dataDir, historyMarkFile)
  const beside = `${path}.${randomUUID()}`
  try {
    await writeFile(beside, `${JSON.stringify(mark)}\n`)
    await giveToOwner(dataDir, [beside])
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? storageFull(error) : error
  }
}

export const removeHistoryMark = (dataDir: string): Promise<void> =>
  rm(join(dataDir, historyMarkFile), { force: true, recursive: true })
