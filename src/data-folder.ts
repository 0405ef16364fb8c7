/** What stands in the data folder, by name. docs/architecture.md says what is lost with each. */

export const storeFile = 'tidemark.sqlite'

/** Room on the disk that is kept for what must be written even when there is none. */
export const reserveFile = 'reserve'

export const adminTokenFile = 'admin-token.sha256'

/** When the last backup was made, and whether one failed since. */
export const backupNoteFile = 'backup.json'

/** Results of analysis runs, unless they are kept elsewhere. */
export const artifactFolder = 'artifacts'
export const artifactEnding = '.parquet'

/** Says which generation of the embedded search index is served. */
export const servedIndexFile = 'search.current'
/** Says which one is being built, to be served next. */
export const nextIndexFile = 'search.next'
export const indexFile = (generation: number): string => `search-${generation}.sqlite`

/** The generation that a file belongs to, be it the index or what SQLite keeps beside it; null for other files. */
export function indexGenerationOf(name: string): number | null {
  const digits = /^search-(\d+)\.sqlite/.exec(name)?.[1]
  return digits === undefined ? null : Number(digits)
}

/** What a restore has brought so far. */
export const restoreFolder = 'restore.partial'
