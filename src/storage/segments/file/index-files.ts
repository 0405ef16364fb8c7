import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { indexFile, indexGenerationOf, nextIndexFile, servedIndexFile } from '../../../platform/data-folder.ts'
import { giveToOwner } from '../../../platform/folders.ts'
import { readRegularText } from '../../../platform/regular-file.ts'
import { isOpenElsewhere, refuseOpenIndex } from './index-lock.ts'

/**
 * Decides which file of the data folder holds the search index. A rebuild writes the next generation beside the served
 * one, so that searches go on meanwhile and a rebuild that was stopped can continue later. Two pointers name them:
 *
 *   search.current        JSON {generation, rules, instance}: the served generation, and its origin
 *   search.next           the same for the generation that is being built; renamed to search.current when ready
 *
 * After an upgrade to other rules the server itself builds the next generation, and serves the part that is built so
 * far. Until it is complete, search.current stays as it is, so that the earlier version can be started again.
 *
 *   search-GENERATION.sqlite (and SQLite's files beside it)
 */
export interface IndexPointer {
  readonly generation: number
  readonly rules: string
  /** Absent in files of earlier versions. */
  readonly instance?: string | null
}

/** The rules and the store that an index is made from. */
export interface IndexOrigin {
  /** The version of the rules of text analysis. */
  readonly rules: string
  /** Identifies the store, because a position means nothing in another store. Null for a store that is still empty. */
  readonly instance: string | null
}

export const isOfOrigin = (pointer: IndexPointer, { rules, instance }: IndexOrigin): boolean =>
  pointer.rules === rules && (pointer.instance === undefined || pointer.instance === instance)

type PointerName = 'current' | 'next'

const pointerFile = (dataDir: string, which: PointerName): string =>
  join(dataDir, which === 'current' ? servedIndexFile : nextIndexFile)

export const indexPath = (dataDir: string, generation: number): string => join(dataDir, indexFile(generation))

/**
 * Returns the pointer, or null if there is none or it is invalid. Throws if the file cannot be read, because null would
 * make the caller discard the index.
 */
export async function readPointer(dataDir: string, which: PointerName = 'current'): Promise<IndexPointer | null> {
  try {
    const pointer: unknown = JSON.parse(await readRegularText(pointerFile(dataDir, which)))
    const { generation, rules, instance } = (pointer ?? {}) as IndexPointer
    if (!Number.isSafeInteger(generation) || typeof rules !== 'string') return null
    return { generation, rules, ...(instance === undefined ? {} : { instance }) }
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Writes another file and renames it, so that a reader finds the whole old pointer or the whole new one, even if
 * several processes write.
 */
export async function writePointer(
  dataDir: string,
  pointer: IndexPointer,
  which: PointerName = 'current',
): Promise<void> {
  const path = pointerFile(dataDir, which)
  const written = `${path}.${randomUUID()}`
  try {
    await writeFile(written, JSON.stringify(pointer))
    await rename(written, path)
  } catch (error) {
    await rm(written, { force: true })
    throw error
  }
}

export interface ServedGeneration {
  readonly generation: number
  /** The generation of the earlier version, which is kept until this one is complete. */
  readonly kept: number | null
}

/** Returns the pointer search.current if it names an index of the same store with other rules. */
export async function otherRulesPointer(dataDir: string, origin: IndexOrigin): Promise<IndexPointer | null> {
  const pointer = await readPointer(dataDir)
  if (pointer === null || isOfOrigin(pointer, origin) || !isOfOrigin({ ...pointer, rules: origin.rules }, origin))
    return null
  return existsSync(indexPath(dataDir, pointer.generation)) ? pointer : null
}

/** Returns the generation that `servedGeneration` would return, without creating one; null if there is none. */
export async function servedPointer(dataDir: string, origin: IndexOrigin): Promise<IndexPointer | null> {
  const isUpgrade = (await otherRulesPointer(dataDir, origin)) !== null
  const pointer = await readPointer(dataDir, isUpgrade ? 'next' : 'current')
  return pointer !== null && isOfOrigin(pointer, origin) ? pointer : null
}

/**
 * Returns the generation to serve. Creates an empty one if there is none yet, or if it has another origin.
 *
 * The new one gets a number that no file has, because such a file may have another origin. Files are listed before the
 * pointer is read, and a process writes the pointer before it creates the file. So processes that start at the same
 * time choose the same number, and the lock of that file admits only one of them.
 */
export async function servedGeneration(dataDir: string, origin: IndexOrigin): Promise<ServedGeneration> {
  const newest = await newestGeneration(dataDir)
  const served = await readPointer(dataDir)
  if (served !== null && isOfOrigin(served, origin)) {
    if (served.instance === undefined) await writePointer(dataDir, { ...served, ...origin })
    return { generation: served.generation, kept: null }
  }
  // A process that serves the other generation would lose it.
  if (served !== null) refuseOpenIndex(indexPath(dataDir, served.generation))
  const before = await otherRulesPointer(dataDir, origin)
  if (before !== null) return { generation: await nextGeneration(dataDir, origin), kept: before.generation }
  const generation = Math.max(newest, served?.generation ?? 0) + 1
  await writePointer(dataDir, { generation, ...origin })
  await rm(pointerFile(dataDir, 'next'), { force: true })
  return { generation, kept: null }
}

/** Returns the generation to build: the one with this origin that was started, or a new, empty one. */
export async function nextGeneration(dataDir: string, origin: IndexOrigin): Promise<number> {
  const newest = await newestGeneration(dataDir)
  const started = await readPointer(dataDir, 'next')
  const served = (await readPointer(dataDir))?.generation ?? 0
  if (started !== null && started.generation > served && isOfOrigin(started, origin)) return started.generation
  const generation = Math.max(newest, served || numberFromClock()) + 1
  await writePointer(dataDir, { generation, ...origin }, 'next')
  return generation
}

/**
 * A number that is higher than all earlier ones. If no index is served, a server may still have one open whose files
 * were removed. With its number used again, the server would not recognise the new index as newer, and would remove
 * files of the new index when it closes the old one.
 */
const numberFromClock = (): number => Math.floor(Date.now() / 1000)

/** Makes the built generation the served one. */
export async function serveNext(dataDir: string, generation: number): Promise<void> {
  if ((await readPointer(dataDir, 'next'))?.generation !== generation) {
    throw new Error('another rebuild was started during this one, so this one is not used; run tidemark reindex again')
  }
  const files = (await generationFiles(dataDir)).filter((file) => file.generation === generation)
  await giveToOwner(dataDir, [...files.map(({ name }) => join(dataDir, name)), pointerFile(dataDir, 'next')])
  await rename(pointerFile(dataDir, 'next'), pointerFile(dataDir, 'current'))
}

/** Makes the generation that replaces an earlier version the served one, when it is complete. */
export async function servePermanently(dataDir: string, generation: number, origin: IndexOrigin): Promise<void> {
  await writePointer(dataDir, { generation, ...origin })
  if ((await readPointer(dataDir, 'next'))?.generation === generation) {
    await rm(pointerFile(dataDir, 'next'), { force: true })
  }
}

/** Removes the pointers first, so that files that are left over by a crash are unused. */
export async function removeIndex(dataDir: string): Promise<void> {
  for (const which of ['next', 'current'] as const) await rm(pointerFile(dataDir, which), { force: true })
  await removeGenerations(dataDir, Number.POSITIVE_INFINITY)
}

/**
 * Removes every index of a folder whose process searches elsewhere. Rejects before it removes anything if another
 * process has one open. Returns the number of removed files.
 */
export async function removeUnusedIndex(dataDir: string): Promise<number> {
  const files = (await generationFiles(dataDir)).filter(({ isFile }) => isFile)
  for (const generation of new Set(files.map((file) => file.generation))) {
    refuseOpenIndex(indexPath(dataDir, generation))
  }
  await removeIndex(dataDir)
  return files.length
}

/** Removes a rebuild that was stopped. Returns false if a process is working on it. */
export async function removeStoppedRebuild(dataDir: string): Promise<boolean> {
  const started = await readPointer(dataDir, 'next')
  if (started === null) return true
  if (isOpenElsewhere(indexPath(dataDir, started.generation))) return false
  // Without its pointer it cannot become the served one. If it has just become that, it has no such pointer, and stays.
  const claimed = `${pointerFile(dataDir, 'next')}.${randomUUID()}`
  try {
    await rename(pointerFile(dataDir, 'next'), claimed)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  for (const { name, generation, isFile } of await generationFiles(dataDir)) {
    if (generation === started.generation && isFile) await rm(join(dataDir, name), { force: true })
  }
  await rm(claimed)
  return true
}

/** Deletes the files of every generation below the given one, except `kept`. */
export async function removeGenerations(dataDir: string, below: number, kept: number | null = null): Promise<void> {
  for (const { name, generation, isFile } of await generationFiles(dataDir)) {
    if (generation < below && generation !== kept && isFile) await rm(join(dataDir, name), { force: true })
  }
}

const newestGeneration = async (dataDir: string): Promise<number> =>
  Math.max(0, ...(await generationFiles(dataDir)).map(({ generation }) => generation))

async function generationFiles(dataDir: string): Promise<{ name: string; generation: number; isFile: boolean }[]> {
  return (await readdir(dataDir, { withFileTypes: true })).flatMap((entry) => {
    const generation = indexGenerationOf(entry.name)
    return generation === null ? [] : { name: entry.name, generation, isFile: entry.isFile() }
  })
}
