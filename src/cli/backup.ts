import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { type BackupProgress, type Report, totalBytes } from '../operator/backup-manifest.ts'
import { type BackupNote, readBackupNote, writeBackupNote } from '../operator/backup-note.ts'
import { type BackupPlace, pruneBackups } from '../operator/backup-place.ts'
import { keepBackingUp } from '../operator/keep-backing-up.ts'
import { makeBackup } from '../operator/make-backup.ts'
import { finishRestore } from '../operator/restore-backup.ts'
import { verifyBackup } from '../operator/verify-backup.ts'
import { storeFile } from '../platform/data-folder.ts'
import { inScratch } from '../platform/folders.ts'
import { formatTime, parseTime } from '../platform/time.ts'
import { version } from '../platform/version.ts'
import { artifactFilesOf } from '../storage/artifact-stores.ts'
import { embeddedBackend } from '../storage/backends.ts'
import { backupPlaceOf, findBackup } from '../storage/backup-places.ts'
import type { Context } from './context.ts'
import { counted } from './counted.ts'
import { inWords } from './in-words.ts'
import { ownBackup } from './own-backup.ts'
import { Progress } from './progress.ts'
import { untilSignal } from './shutdown.ts'
import { commandLineActor, withInstance } from './with-workbench.ts'

interface Options {
  readonly every?: number
  readonly keep?: number
}

export function backup(program: Command, context: Context): void {
  const command = program
    .command('backup')
    .description('Back up the store and the artifacts to a new folder. The server may be running.')
    .argument('[into]', 'where to create the folder, or s3://bucket/prefix', '.')
    .option('--every <time>', 'keep running, and back up at this interval: 30m, 12h, 1d, 1w (at least 1m)', everyMs)
    .option('--keep <number>', 'after each backup, delete all but this many of the newest', keptNumber)
    .action(async (into: string, { every, keep }: Options) => {
      const place = backupPlaceOf(into)
      const once = async () => {
        await backUpAndNote(context, place)
        if (keep !== undefined) await prune(context, place, keep)
      }
      if (every === undefined) await once()
      else await repeatBackups(context, place, every, once)
    })
  command
    .command('verify')
    .description('Restore a backup to a temporary folder (below TMPDIR), read all of it, and say whether it is good.')
    .argument('<from>', 'a backup, or a folder or bucket of backups (takes the newest)')
    .action((from: string) => verify(context, from))
  command
    .command('record')
    .description('Record that a backup by another tool, such as pg_dump, was made: for metrics and alerts.')
    .option('--failed', 'record that it failed')
    .action(({ failed = false }: { failed?: boolean }) => record(context, failed ? 'failed' : 'made'))
}

/** Makes a backup, and records success or failure for the metrics of the server. */
async function backUpAndNote(context: Context, place: BackupPlace): Promise<void> {
  const { dataDir } = context.config()
  const note = (written: BackupNote) =>
    writeBackupNote(dataDir, written).catch((error: unknown) => {
      context.warn(`tidemark: the result of this backup cannot be recorded in ${dataDir}: ${inWords(error).message}`)
    })
  let madeAt: number
  try {
    madeAt = await backUp(context, place)
  } catch (error) {
    // A failure is recorded only if the folder has a store.
    if (existsSync(join(dataDir, storeFile))) {
      const before = await readBackupNote(dataDir).catch(() => null)
      await note({ madeAt: before?.madeAt ?? null, failedAt: Date.now() })
    }
    throw error
  }
  await note({ madeAt, failedAt: null })
}

/** Returns the time of the backup. */
async function backUp(context: Context, place: BackupPlace): Promise<number> {
  const config = context.config()
  const { copyStore } = await ownBackup(config, 'backup')
  const { dataDir } = config
  await finishRestore(dataDir)
  const artifacts = artifactFilesOf(config)
  const bar = new Progress()
  const parts = {
    ...{ dataDir, version, now: Date.now, copyStore },
    readArtifact: (artifact: Parameters<typeof artifacts.read>[0]) => artifacts.read(artifact, 0, artifact.bytes - 1),
  }
  const report = reportOn(bar)
  const { made, where } = await place.receive((into) => makeBackup(into, parts, report), report)
  const { manifest, leftOut } = made
  const total = totalBytes(manifest)
  bar.end({ done: total, total, text: `${megabytes(total)} in ${manifest.files.length} files` })
  for (const artifactId of leftOut) {
    context.warn(`artifact ${artifactId} is not included: its file is missing or incomplete`)
  }
  const { document = 0, event = 0 } = manifest.counts
  context.say(`${document} documents and ${event} events are in ${where}`)
  return parseTime(manifest.made_at)!
}

async function prune(context: Context, place: BackupPlace, keep: number): Promise<void> {
  for (const name of await pruneBackups(place, keep, Date.now())) context.say(`deleted the older backup ${name}`)
}

/** Makes backups until a signal comes. */
async function repeatBackups(
  context: Context,
  place: BackupPlace,
  everyMs: number,
  once: () => Promise<void>,
): Promise<void> {
  // Fails at once on a wrong setting, because trying again would not help.
  await ownBackup(context.config(), 'backup')
  const stop = new AbortController()
  untilSignal().then(() => stop.abort())
  await keepBackingUp({
    ...{ place, everyMs, backUp: once, now: Date.now },
    sleep: (ms) => sleep(ms, undefined, { signal: stop.signal }).catch(() => {}),
    isEnding: () => stop.signal.aborted,
    scheduled: (dueAt) => context.say(`next backup at ${formatTime(dueAt)}`),
    failed: (error, ms) => context.warn(`tidemark: ${inWords(error).message}; trying again in ${ms / 1000} s`),
  })
}

async function verify(context: Context, from: string): Promise<void> {
  const { place, name } = await findBackup(from)
  const bar = new Progress()
  const report = reportOn(bar)
  const { manifest, withoutFile } = await inScratch(async (scratch) => {
    const { backup, newestSchema } = await embeddedBackend(scratch).maintenance()
    const artifacts = artifactFilesOf({ artifactsUrl: null, dataDir: scratch })
    const parts = { ...backup, newestSchema, scratch, artifacts }
    return place.open(name, (folder) => verifyBackup(folder, parts, report), report)
  })
  const total = totalBytes(manifest)
  bar.end({ done: total, total, text: `${megabytes(total)} in ${manifest.files.length} files` })
  if (withoutFile.length > 0) {
    context.warn(
      `${counted(withoutFile.length, 'analysis result')} not included: their files were missing when the backup was made`,
    )
  }
  const { document = 0, event = 0 } = manifest.counts
  context.say(`good: ${name} was restored and read, ${document} documents and ${event} events of ${manifest.made_at}`)
}

async function record(context: Context, outcome: 'made' | 'failed'): Promise<void> {
  await withInstance(context, ({ operator }) => operator.commit(commandLineActor, [{ kind: 'backup.record', outcome }]))
  context.say(outcome === 'made' ? 'recorded: a backup was made' : 'recorded: a backup failed')
}

/** Seconds are not offered, because each backup is a full copy. */
const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

function everyMs(text: string): number {
  const [, number, unit] = /^(\d{1,4})([mhdw])$/.exec(text) ?? []
  const ms = unit === undefined ? 0 : Number(number) * units[unit]!
  if (ms <= 0)
    throw new InvalidArgumentError('It must be a number followed by m, h, d or w, such as 12h or 1d; at least 1m.')
  return ms
}

function keptNumber(text: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (number < 1) throw new InvalidArgumentError('It must be a whole number, at least 1.')
  return number
}

export const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

export function reportOn(bar: Progress): Report {
  return ({ step, done, total }: BackupProgress) => bar.show({ done, total, text: step })
}
