import type { Command } from 'commander'
import { totalBytes } from '../operator/backup-manifest.ts'
import { checkTarget, restoreBackup } from '../operator/restore-backup.ts'
import { artifactFilesOf } from '../storage/artifact-stores.ts'
import { findBackup } from '../storage/backup-places.ts'
import { indexHomeOf } from '../storage/index-homes.ts'
import { accessInWords } from './access-in-words.ts'
import { megabytes, reportOn } from './backup.ts'
import type { Context } from './context.ts'
import { ownBackup } from './own-backup.ts'
import { Progress } from './progress.ts'

export function restore(program: Command, context: Context): void {
  program
    .command('restore')
    .description('put a backup into the data folder, whole or not at all; no server may run on it')
    .argument(
      '<from>',
      'the folder that tidemark backup made, or s3://bucket/prefix/NAME; of a place of backups the newest',
    )
    .option('--force', 'replace what the data folder holds')
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
      const { place, name } = await findBackup(from)
      const { manifest, access, tokenChanged } = await place.open(
        name,
        (folder) => restoreBackup(folder, parts, { force }, report),
        report,
      )
      const total = totalBytes(manifest)
      bar.end({ done: total, total, text: `${megabytes(total)} in ${manifest.files.length} files` })
      const { document = 0, event = 0 } = manifest.counts
      context.say(`${document} documents and ${event} events of ${manifest.made_at} are in ${dataDir}`)
      context.say('the search index is made anew from the store when the server starts')
      for (const line of accessInWords(access, manifest.made_at)) context.say(line)
      if (tokenChanged) {
        context.say('the admin token is the one of the backup; make a new one with: tidemark admin-token')
      }
    })
}
