import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from 'commander'
import { CopyError, type CopyResult, copyInstance, type PassKind } from '../operator/copy-instance.ts'
import { finishRestore } from '../operator/restore-backup.ts'
import { artifactFolder } from '../platform/data-folder.ts'
import { type Config, ConfigError } from '../settings/config.ts'
import { backendOf, embeddedBackend } from '../storage/backends.ts'
import type { Context } from './context.ts'
import { Progress } from './progress.ts'

interface Options {
  readonly from?: string
  readonly to?: string
  readonly verify?: boolean
}

export function copy(program: Command, context: Context): void {
  program
    .command('copy')
    .description(
      'Move the embedded store to PostgreSQL: most of it while the server runs, the rest when it is stopped.',
    )
    .option('--from <folder>', 'the data folder [TIDEMARK_DATA_DIR]')
    .option('--to <address>', 'the database, postgres://… [TIDEMARK_DATABASE_URL]')
    .option('--verify', 'only compare the two stores, row by row')
    .action(async (options: Options) => {
      const { config, openSource, openTarget } = await copyOf(context, options)
      await finishRestore(config.dataDir)
      const source = await openSource()
      try {
        if (options.verify === true && !source.alone) {
          throw new CopyError('the store is in use and may change during the comparison: stop the server first')
        }
        const kind: PassKind = options.verify === true ? 'compare' : source.alone ? 'final' : 'bulk'
        const { tables, instance } = source
        const target = await openTarget({ tables, instance, writes: kind !== 'compare' })
        try {
          const bar = new Progress()
          const startedAt = Date.now()
          const rate = (done: number) => Math.round(done / Math.max(0.001, (Date.now() - startedAt) / 1000))
          const result = await copyInstance(source, target, kind, ({ table, done, total }) =>
            bar.show({ done, total, text: `${table}, ${rate(done)} rows per second` }),
          )
          const total = rowsIn(result)
          bar.end({ done: total, total, text: `${total} rows, ${rate(total)} per second` })
          conclude(context, kind, result, config)
        } finally {
          await target.close()
        }
      } finally {
        source.close()
      }
    })
}

/** Prepares the copy from the embedded store in the data folder to the configured database. */
async function copyOf(context: Context, options: Options) {
  const config = context.config({
    ...(options.from === undefined ? {} : { TIDEMARK_DATA_DIR: options.from }),
    ...(options.to === undefined ? {} : { TIDEMARK_DATABASE_URL: options.to }),
  })
  const from = embeddedBackend(config.dataDir)
  const { copyTarget: openTarget } = await backendOf(config).maintenance()
  if (openTarget === null) {
    throw new ConfigError(['no target: use --to postgres://user:password@host:5432/database'])
  }
  if (!from.isThere()) {
    throw new ConfigError([`there is no store in ${config.dataDir}: --from must be the data folder of an instance`])
  }
  const { copySource: openSource } = await from.maintenance()
  return { config, openSource, openTarget }
}

const rowsIn = ({ rows }: CopyResult): number => Object.values(rows).reduce((sum, count) => sum + count, 0)

function conclude(context: Context, kind: PassKind, result: CopyResult, { dataDir, artifactsUrl }: Config): void {
  const { rows, copiedRows, differences } = result
  const content = `${rows.document} documents and ${rows.event} events, ${rowsIn(result)} rows in all`
  if (differences.length > 0) {
    for (const difference of differences) context.warn(`different: ${difference}`)
    context.warn(
      kind === 'final'
        ? 'the copy is not complete: something else writes to the database; stop it, then run this again'
        : 'the two stores are different',
    )
    context.fail()
    return
  }
  if (kind === 'compare') {
    context.say(`identical on both sides, by count and SHA-256: ${content}`)
    return
  }
  if (kind === 'bulk') {
    context.say(`copied ${copiedRows} rows of ${content}`)
    context.say('not complete yet, because the store is in use: stop the server, then run the same command again')
    return
  }
  context.say(`complete, identical on both sides by count and SHA-256: ${content}`)
  context.say('now set TIDEMARK_DATABASE_URL to the database and start the server')
  context.say(`keep TIDEMARK_DATA_DIR=${dataDir}: its search index stays in use`)
  if (artifactsUrl === null) {
    const folder = pathToFileURL(join(dataDir, artifactFolder)).href
    context.say(
      `its folder ${artifactFolder}/ holds the analysis results: other processes need TIDEMARK_ARTIFACTS_URL=${folder}`,
    )
  }
}
