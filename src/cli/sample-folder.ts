import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { storeFile } from '../platform/data-folder.ts'
import { type Config, defaultDataFolder } from '../settings/config.ts'

/** `start` never uses the default folder of the other commands, which holds real data. */
export const sampleFolder = './sample-data'

/**
 * Earlier versions kept the sample in the default folder. Returns a note about where an old sample may be, when the new
 * folder has no store yet; otherwise null.
 */
export function earlierSample({ dataDir, databaseUrl }: Config): string | null {
  const hasStore = (folder: string): boolean => existsSync(join(folder, storeFile))
  if (databaseUrl !== null || dataDir !== resolve(sampleFolder)) return null
  if (hasStore(dataDir) || !hasStore(resolve(defaultDataFolder))) return null
  return (
    `The sample is kept in ${sampleFolder}, and ${defaultDataFolder} stays as it is. ` +
    `If that holds a sample of an earlier version, \`tidemark start --data-dir ${defaultDataFolder}\` serves it.`
  )
}
