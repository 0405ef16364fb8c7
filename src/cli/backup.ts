import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type BackupProgress, type Report, totalBytes } from '../operator/backup-manifest.ts'
import { makeBackup } from '../operator/make-backup.ts'
import { finishRestore } from '../operator/restore-backup.ts'
import { artifactFilesOf } from '../storage/artifact-stores.ts'
import { version } from '../version.ts'
import type { Context } from './context.ts'
import { ownBackup } from './own-backup.ts'
import { Progress } from './progress.ts'

export function backup(program: Command, context: Context): void {
  program
    .command('backup')
    .description('copy the store and the artifacts into a new folder, checked; a running server goes on')
    .argument('[into]', 'where that folder is made', '.')
    .action(async (into: string) => {
      const config = context.config()
      const { copyStore } = await ownBackup(config, 'backup')
      const { dataDir } = config
      await finishRestore(dataDir)
      const artifacts = artifactFilesOf(config)
      const bar = new Progress()
      const { folder, manifest, leftOut } = await makeBackup(
        resolve(into),
        {
          dataDir,
          version,
          now: Date.now,
          copyStore,
          readArtifact: (artifact) => artifacts.read(artifact, 0, artifact.bytes - 1),
        },
        reportOn(bar),
      )
      const total = totalBytes(manifest)
      bar.end({ done: total, total, text: `${megabytes(total)} in ${manifest.files.length} files` })
      for (const artifactId of leftOut) {
        context.warn(`artifact ${artifactId} is left out: its file is gone or not whole`)
      }
      const { document = 0, event = 0 } = manifest.counts
      context.say(`${document} documents and ${event} events are in ${folder}`)
    })
}

export const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

export function reportOn(bar: Progress): Report {
  return ({ step, done, total }: BackupProgress) => bar.show({ done, total, text: step })
}
