import { type Config, ConfigError } from '../config.ts'
import type { BackupByTidemark, Upkeep } from '../storage/backend.ts'
import { backendOf } from '../storage/backends.ts'

/** For a store that Tidemark backs up and restores itself; of another one it says which of its own tools does that. */
export async function ownBackup(
  config: Config,
  wanted: 'backup' | 'restore',
): Promise<BackupByTidemark & Pick<Upkeep, 'newestSchema'>> {
  const { name, upkeep } = backendOf(config)
  const { backup, newestSchema } = await upkeep()
  if (backup.by === 'tidemark') return { ...backup, newestSchema }
  throw new ConfigError([
    `TIDEMARK_DATABASE_URL is set: the store is ${name}, which has its own tools for this; use ${backup[wanted]}`,
  ])
}
