import type { Copy } from './copy.ts'

/** Opens a database, a file or a folder. Each kind loads only its own library. */
export async function openCopy(to: string): Promise<Copy> {
  if (/^postgres(ql)?:\/\//.test(to)) return (await import('./postgres-copy.ts')).PostgresCopy.open(to)
  if (/\.(sqlite3?|db)$/.test(to)) return new (await import('./sqlite-copy.ts')).SqliteCopy(to)
  return (await import('./parquet-copy.ts')).ParquetCopy.open(to)
}
