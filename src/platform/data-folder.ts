/** The names in the data folder. docs/architecture.md says what is lost with each. */

export const storeFile = 'tidemark.sqlite'

/** Disk space that is kept for writes that must succeed on a full disk. */
export const reserveFile = 'reserve'

export const adminTokenFile = 'admin-token.sha256'

/** When the last backup was made, and whether one failed since. */
export const backupNoteFile = 'backup.json'

/**
 * The newest entries of the store at the last check. They show whether the store was rolled back to an earlier time.
 */
export const historyMarkFile = 'history.json'

/** Results of analysis runs, unless another place is configured. */
export const artifactFolder = 'artifacts'
export const artifactEnding = '.parquet'

/** Names the generation of the embedded search index that is served. */
export const servedIndexFile = 'search.current'
/** Names the generation that is being built and will be served next. */
export const nextIndexFile = 'search.next'
export const indexFile = (generation: number): string => `search-${generation}.sqlite`

/**
 * Returns the generation that a file belongs to, the index or a file that SQLite keeps beside it; null for other files.
 */
export function indexGenerationOf(name: string): number | null {
  const digits = /^search-(\d+)\.sqlite/.exec(name)?.[1]
  return digits === undefined ? null : Number(digits)
}

/** The data of a restore in progress. */
export const restoreFolder = 'restore.partial'
