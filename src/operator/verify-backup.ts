import { artifactIdOf, type BackupManifest, type Report } from './backup-manifest.ts'
import type { StoreCopy } from './make-backup.ts'
import { type RestoreParts, restoreBackup } from './restore-backup.ts'

export interface VerifyParts extends Omit<RestoreParts, 'dataDir' | 'artifacts' | 'removeIndex'> {
  /** An empty folder, which is as a data folder when this is done. */
  readonly scratch: string
  readonly artifacts: RestoreParts['artifacts']
  /** Reads all of the restored store. Throws where it is damaged, or has other rows than so many. Its artifacts that have not expired. */
  readonly examineStore: (counts: BackupManifest['counts']) => Promise<StoreCopy['artifacts']>
}

export interface VerifiedBackup {
  readonly manifest: BackupManifest
  /** Results that the store knows and the backup does not have: their files were gone or damaged when it was made. */
  readonly withoutFile: readonly string[]
}

/** Restores a backup where nobody needs it, and looks at what came of it. Throws where it could not be relied on. */
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
