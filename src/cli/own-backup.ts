import { type Config, ConfigError } from '../config.ts'
import type { Backend, BackupByTidemark } from '../storage/backend.ts'
import { backendOf } from '../storage/backends.ts'

/** For a store that Tidemark backs up and restores itself; of another one it says which of its own tools does that. */
export function ownBackup(
  config: Config,
  wanted: 'backup' | 'restore',
): BackupByTidemark & Pick<Backend, 'newestSchema'> {
  const { name, backup, newestSchema } = backendOf(config)
  if (backup.by === 'tidemark') return { ...backup, newestSchema }
  throw new ConfigError([
    `TIDEMARK_DATABASE_URL is set: the store is ${name}, whose own tools do this; use ${backup[wanted]}`,
  ])
}
