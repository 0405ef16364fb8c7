import type { StoreMaintenance } from '../backend.ts'
import { newestMigration } from '../sql/migrate.ts'
import { copyStore, examineStore, refuseInUse, removeStoreLog } from './backup-store.ts'
import { openCopySource } from './copy-source.ts'
import { prepareRestored } from './prepare-restored.ts'
import { sqliteSchema } from './sqlite-schema.ts'

export function embeddedMaintenance(path: string) {
  return {
    schema: () => sqliteSchema(path),
    newestSchema: newestMigration,
    examine: async () => [],
    backup: {
      by: 'tidemark',
      copyStore: (to, report) => copyStore(path, to, Date.now(), report),
      examineStore: (counts) => examineStore(path, counts, Date.now()),
      refuseInUse: () => refuseInUse(path),
      removeStoreLog: () => removeStoreLog(path),
      prepareStore: (copy, { made_at }) => prepareRestored(copy, path, made_at, Date.now()),
    },
    copySource: () => openCopySource(path),
    copyTarget: null,
  } as const satisfies StoreMaintenance
}
