import { randomUUID } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { indexFile, indexGenerationOf, nextIndexFile, servedIndexFile } from '../../../data-folder.ts'
import { giveToOwner } from '../../../give-to-owner.ts'
import { refuseOpenIndex } from './index-lock.ts'

/**
 * Which file of the data folder holds the search index. A rebuild writes the next generation beside the one that is
 * served, so that searches go on meanwhile and a rebuild that was stopped can go on later. Two pointers name them:
 *
 *   search.current        JSON {generation, rules, instance}: the generation that is served, and its origin
 *   search.next           the same of the one that is being built; it is handed over by becoming search.current
 *   search-GENERATION.sqlite (and what SQLite keeps beside it)
 */
export interface IndexPointer {
  readonly generation: number
  readonly rules: string
  /** Left out by earlier versions. */
  readonly instance?: string | null
}

/** What an index is made by and from. */
export interface IndexOrigin {
  /** Names the rules by which texts become terms. */
  readonly rules: string
  /** Names the store: a position in another one says nothing. Null for a store that nothing was ever done to. */
  readonly instance: string | null
}

export const isOfOrigin = (pointer: IndexPointer, { rules, instance }: IndexOrigin): boolean =>
  pointer.rules === rules && (pointer.instance === undefined || pointer.instance === instance)

type Pointing = 'current' | 'next'

const pointerFile = (dataDir: string, which: Pointing): string =>
  join(dataDir, which === 'current' ? servedIndexFile : nextIndexFile)

export const indexPath = (dataDir: string, generation: number): string => join(dataDir, indexFile(generation))

/**
 * The pointer, or null where there is none, or none that makes sense. One that cannot be read at the moment is neither:
 * to begin a new index for it would throw the old one away.
 */
export async function readPointer(dataDir: string, which: Pointing = 'current'): Promise<IndexPointer | null> {
  try {
    const pointer: unknown = JSON.parse(await readFile(pointerFile(dataDir, which), 'utf8'))
    const { generation, rules, instance } = (pointer ?? {}) as IndexPointer
    if (!Number.isSafeInteger(generation) || typeof rules !== 'string') return null
    return { generation, rules, ...(instance === undefined ? {} : { instance }) }
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Moved into place whole: a reader finds the old pointer or the new one, also where several processes write theirs. */
export async function writePointer(dataDir: string, pointer: IndexPointer, which: Pointing = 'current'): Promise<void> {
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

/**
 * The generation to serve: a new, empty one where there is none yet or it is of another origin.
 *
 * A new one has a number that no file has, for what is in such a file may be of another origin. Files are looked at before
 * the pointer, and a process points at a generation before it makes its file: so of processes that start at once all come
 * to the same number, and the lock of that file lets one of them in.
 */
export async function servedGeneration(dataDir: string, origin: IndexOrigin): Promise<number> {
  const newest = await newestGeneration(dataDir)
  const served = await readPointer(dataDir)
  if (served !== null && isOfOrigin(served, origin)) {
    if (served.instance === undefined) await writePointer(dataDir, { ...served, ...origin })
    return served.generation
  }
  // Whoever serves the other one would lose it.
  if (served !== null) refuseOpenIndex(indexPath(dataDir, served.generation))
  const generation = Math.max(newest, served?.generation ?? 0) + 1
  await writePointer(dataDir, { generation, ...origin })
  await rm(pointerFile(dataDir, 'next'), { force: true })
  return generation
}

/** The generation to build: the one that was begun and is of this origin, or else a new, empty one, numbered as above. */
export async function nextGeneration(dataDir: string, origin: IndexOrigin): Promise<number> {
  const newest = await newestGeneration(dataDir)
  const begun = await readPointer(dataDir, 'next')
  const served = (await readPointer(dataDir))?.generation ?? 0
  if (begun !== null && begun.generation > served && isOfOrigin(begun, origin)) return begun.generation
  const generation = Math.max(newest, served || afterAll()) + 1
  await writePointer(dataDir, { generation, ...origin }, 'next')
  return generation
}

/**
 * Where no index is served, a server may still have one open whose files were removed under it. A number that it had is
 * not given again: it would not take the new index for a newer one, and when it closed the old it would remove files of
 * the new by their names.
 */
const afterAll = (): number => Math.floor(Date.now() / 1000)

/** What was built is served from here on. */
export async function serveNext(dataDir: string, generation: number): Promise<void> {
  if ((await readPointer(dataDir, 'next'))?.generation !== generation) {
    throw new Error(
      'another search index was begun while this one was built: it is not used; run tidemark reindex again',
    )
  }
  const files = (await generationFiles(dataDir)).filter((file) => file.generation === generation)
  await giveToOwner(dataDir, [...files.map(({ name }) => join(dataDir, name)), pointerFile(dataDir, 'next')])
  await rename(pointerFile(dataDir, 'next'), pointerFile(dataDir, 'current'))
}

/** The pointers first: without them, what is left of the files is nobody's. */
export async function removeIndex(dataDir: string): Promise<void> {
  for (const which of ['next', 'current'] as const) await rm(pointerFile(dataDir, which), { force: true })
  await removeGenerations(dataDir, Number.POSITIVE_INFINITY)
}

/** Deletes the files of every generation below the given one. */
export async function removeGenerations(dataDir: string, below: number): Promise<void> {
  for (const { name, generation, isFile } of await generationFiles(dataDir)) {
    if (generation < below && isFile) await rm(join(dataDir, name), { force: true })
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
