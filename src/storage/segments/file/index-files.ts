import { randomUUID } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { indexFile, indexGenerationOf, nextIndexFile, servedIndexFile } from '../../../data-folder.ts'

/**
 * Which file of the data folder holds the search index. A rebuild writes the next generation beside the one that is
 * served, so that searches go on meanwhile and a rebuild that was stopped can go on later. Two pointers name them:
 *
 *   search.current        JSON {generation, rules}: the generation that is served, and the rules its terms were made by
 *   search.next           the same of the one that is being built; it is handed over by becoming search.current
 *   search-GENERATION.sqlite (and what SQLite keeps beside it)
 */
export interface IndexPointer {
  readonly generation: number
  readonly rules: string
}

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
    const { generation, rules } = (pointer ?? {}) as IndexPointer
    return Number.isSafeInteger(generation) && typeof rules === 'string' ? { generation, rules } : null
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
 * The generation to serve: a new, empty one where there is none yet or its rules are not those of this version.
 *
 * A new one has a number that no file has, for what is in such a file may be of other rules. Files are looked at before
 * the pointer, and a process points at a generation before it makes its file: so of processes that start at once all come
 * to the same number, and the lock of that file lets one of them in.
 */
export async function servedGeneration(dataDir: string, rules: string): Promise<number> {
  const newest = await newestGeneration(dataDir)
  const served = await readPointer(dataDir)
  if (served?.rules === rules) return served.generation
  const generation = Math.max(newest, served?.generation ?? 0) + 1
  await writePointer(dataDir, { generation, rules })
  await rm(pointerFile(dataDir, 'next'), { force: true })
  return generation
}

/** The generation to build: the one that was begun by these rules, or else a new, empty one, numbered as above. */
export async function nextGeneration(dataDir: string, rules: string): Promise<number> {
  const newest = await newestGeneration(dataDir)
  const begun = await readPointer(dataDir, 'next')
  const served = (await readPointer(dataDir))?.generation ?? 0
  if (begun !== null && begun.generation > served && begun.rules === rules) return begun.generation
  const generation = Math.max(newest, served) + 1
  await writePointer(dataDir, { generation, rules }, 'next')
  return generation
}

/** What was built is served from here on. */
export async function serveNext(dataDir: string, generation: number): Promise<void> {
  if ((await readPointer(dataDir, 'next'))?.generation !== generation) {
    throw new Error(
      'another search index was begun while this one was built: it is not used; run tidemark reindex again',
    )
  }
  await rename(pointerFile(dataDir, 'next'), pointerFile(dataDir, 'current'))
}

/** The pointers first: without them, what is left of the files is nobody's. */
export async function removeIndex(dataDir: string): Promise<void> {
  for (const which of ['next', 'current'] as const) await rm(pointerFile(dataDir, which), { force: true })
  await removeGenerations(dataDir, Number.POSITIVE_INFINITY)
}

/** Deletes the files of every generation below the given one. */
export async function removeGenerations(dataDir: string, below: number): Promise<void> {
  for (const { name, generation } of await generationFiles(dataDir)) {
    if (generation < below) await rm(join(dataDir, name), { force: true })
  }
}

const newestGeneration = async (dataDir: string): Promise<number> =>
  Math.max(0, ...(await generationFiles(dataDir)).map(({ generation }) => generation))

async function generationFiles(dataDir: string): Promise<{ name: string; generation: number }[]> {
  return (await readdir(dataDir)).flatMap((name) => {
    const generation = indexGenerationOf(name)
    return generation === null ? [] : { name, generation }
  })
}
