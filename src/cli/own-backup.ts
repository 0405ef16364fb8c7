import { type Config, ConfigError } from '../settings/config.ts'
import type { BackupByTidemark, Upkeep } from '../storage/backend.ts'
import { backendOf } from '../storage/backends.ts'

/** For a store that Tidemark backs up and restores itself. For others it names the tools of that store. */
export async function ownBackup(
  config: Config,
  operation: 'backup' | 'restore',
): Promise<BackupByTidemark & Pick<Upkeep, 'newestSchema'>> {
  const { name, upkeep } = backendOf(config)
  const { backup, newestSchema } = await upkeep()
  if (backup.by === 'tidemark') return { ...backup, newestSchema }
  throw new ConfigError([
    `the store of the settings is ${name}, which has its own tools for this; use ${backup[operation]}`,
  ])
}
