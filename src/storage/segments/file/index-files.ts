import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { indexFile, indexGenerationOf, servedIndexFile } from '../../../data-folder.ts'

/**
 * Which file of the data folder holds the search index. A rebuild writes the next generation beside the one that is
 * served and then moves the pointer, so that searches go on meanwhile and a rebuild that was stopped can go on later.
 *
 *   search.current        JSON {generation, rules}: the generation that is served, and the rules its terms were made by
 *   search-GENERATION.sqlite (and what SQLite keeps beside it)
 */
export interface IndexPointer {
  readonly generation: number
  readonly rules: string
}

const pointerFile = (dataDir: string): string => join(dataDir, servedIndexFile)

export const indexPath = (dataDir: string, generation: number): string => join(dataDir, indexFile(generation))

/**
 * The pointer, or null where there is none, or none that makes sense. One that cannot be read at the moment is neither:
 * to begin a new index for it would throw the old one away.
 */
export async function readPointer(dataDir: string): Promise<IndexPointer | null> {
  try {
    const pointer: unknown = JSON.parse(await readFile(pointerFile(dataDir), 'utf8'))
    const { generation, rules } = (pointer ?? {}) as IndexPointer
    return Number.isSafeInteger(generation) && typeof rules === 'string' ? { generation, rules } : null
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Moved into place whole: a reader finds the old pointer or the new one. */
export async function writePointer(dataDir: string, pointer: IndexPointer): Promise<void> {
  const path = pointerFile(dataDir)
  await writeFile(`${path}.new`, JSON.stringify(pointer))
  await rename(`${path}.new`, path)
}

/** The generation to serve: a new, empty one where there is none yet or its rules are not those of this version. */
export async function servedGeneration(dataDir: string, rules: string): Promise<number> {
  const pointer = await readPointer(dataDir)
  if (pointer?.rules === rules) return pointer.generation
  const generation = (pointer?.generation ?? 0) + 1
  await removeGenerations(dataDir, generation)
  await writePointer(dataDir, { generation, rules })
  return generation
}

/** The pointer first: without it, what is left of the files is nobody's. */
export async function removeIndex(dataDir: string): Promise<void> {
  await rm(pointerFile(dataDir), { force: true })
  await removeGenerations(dataDir, Number.POSITIVE_INFINITY)
}

/** Deletes the files of every generation below the given one. */
export async function removeGenerations(dataDir: string, below: number): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const generation = indexGenerationOf(name)
    if (generation !== null && generation < below) await rm(join(dataDir, name), { force: true })
  }
}
