import type { Command } from 'commander'
import { totalBytes } from '../operator/backup-manifest.ts'
import { checkTarget, refuseOverlap, restoreBackup } from '../operator/restore-backup.ts'
import type { Config } from '../settings/config.ts'
import { artifactFilesOf } from '../storage/artifact-stores.ts'
import { findBackup } from '../storage/backup-places.ts'
import { indexHomeOf } from '../storage/index-homes.ts'
import { removalRecordOf } from '../storage/removal-records.ts'
import { accessInWords } from './access-in-words.ts'
import { megabytes, reportOn } from './backup.ts'
import type { Context } from './context.ts'
import { inWords } from './in-words.ts'
import { ownBackup } from './own-backup.ts'
import { Progress } from './progress.ts'

export function restore(program: Command, context: Context): void {
  program
    .command('restore')
    .description('Restore a backup to the data folder, all or nothing. Stop the server first.')
    .argument(
      '<from>',
      'a backup folder or s3://bucket/prefix/NAME; or a folder or bucket of backups (takes the newest)',
    )
    .option('--force', 'replace what is in the data folder')
    .action(async (from: string, options: { force?: boolean }) => {
      const config = context.config()
      const store = await ownBackup(config, 'restore')
      const { dataDir } = config
      const bar = new Progress()
      const report = reportOn(bar)
      const parts = {
        ...store,
        dataDir,
        artifacts: artifactFilesOf(config),
        removeIndex: () => indexHomeOf(config, null).remove(),
      }
      const force = options.force === true
      // A backup in a bucket is fetched before it is opened.
      await checkTarget(parts, { force })
      const { place, name, folder } = await findBackup(from)
      if (folder !== null) await refuseOverlap(folder, dataDir)
      const { manifest, access, tokenChanged } = await place.open(
        name,
        (folder) => restoreBackup(folder, parts, { force }, report),
        report,
      )
      const total = totalBytes(manifest)
      bar.end({ done: total, total, text: `${megabytes(total)} in ${manifest.files.length} files` })
      const { document = 0, event = 0 } = manifest.counts
      context.say(`${document} documents and ${event} events of ${manifest.made_at} are in ${dataDir}`)
      context.say('the server rebuilds the search index when it starts')
      const recorded = await recordedOf(context, config, access.instance)
      for (const line of accessInWords(access, manifest.made_at, recorded)) context.say(line)
      if (tokenChanged) {
        context.say('the admin token is the one from the backup; tidemark admin-token replaces it')
      }
    })
}

/** The number of entries in the restored instance's record of removals. */
async function recordedOf(context: Context, config: Config, instance: string | null): Promise<number> {
  if (instance === null) return 0
  try {
    return (await removalRecordOf(config, instance).names()).length
  } catch (error) {
    context.warn(`${inWords(error).message}: the server is not ready until it can read it`)
    return 0
  }
}
