import { type Config, ConfigError } from '../settings/config.ts'
import type { BackupByTidemark, StoreMaintenance } from '../storage/backend.ts'
import { backendOf } from '../storage/backends.ts'

/** Returns the backup of a store that Tidemark backs up itself. For other stores, the error names their own tools. */
export async function ownBackup(
  config: Config,
  operation: 'backup' | 'restore',
): Promise<BackupByTidemark & Pick<StoreMaintenance, 'newestSchema'>> {
  const { name, maintenance } = backendOf(config)
  const { backup, newestSchema } = await maintenance()
  if (backup.by === 'tidemark') return { ...backup, newestSchema }
  throw new ConfigError([`the configured store is ${name}, which has its own tools for this: use ${backup[operation]}`])
}
