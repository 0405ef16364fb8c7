import { artifactIdOf, type BackupManifest, type Report } from './backup-manifest.ts'
import type { StoreCopy } from './make-backup.ts'
import { type RestoreParts, restoreBackup } from './restore-backup.ts'

export interface VerifyParts extends Omit<RestoreParts, 'dataDir' | 'artifacts' | 'removeIndex'> {
  /** An empty folder, which becomes a complete data folder. */
  readonly scratch: string
  readonly artifacts: RestoreParts['artifacts']
  /**
   * Reads the whole restored store and returns its unexpired artifacts. Throws if it is damaged, or has other row
   * counts.
   */
  readonly examineStore: (counts: BackupManifest['counts']) => Promise<StoreCopy['artifacts']>
}

export interface VerifiedBackup {
  readonly manifest: BackupManifest
  /**
   * Artifacts in the store whose files are not in the backup, because they were missing or damaged when it was made.
   */
  readonly withoutFile: readonly string[]
}

/** Restores a backup to a temporary folder and checks it. Throws if it cannot be relied on. */
export async function verifyBackup(folder: string, parts: VerifyParts, report: Report): Promise<VerifiedBackup> {
  const { manifest } = await restoreBackup(
    folder,
    { ...parts, dataDir: parts.scratch, removeIndex: async () => {} },
    { force: false },
    report,
  )
  report({ step: 'checking the restored store', done: 0, total: null })
  const known = await parts.examineStore(manifest.counts)
  const inBackup = new Set(manifest.files.map(({ path }) => artifactIdOf(path)))
  const withoutFile = known.map(({ artifactId }) => artifactId).filter((artifactId) => !inBackup.has(artifactId))
  return { manifest, withoutFile }
}
