import { access, constants, stat } from 'node:fs/promises'
import { getPriority, setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import type { IndexSource } from '../indexing/index-source.ts'
import type { ImportProgress } from '../ingest/import-file.ts'
import { Pace } from '../ingest/pace.ts'
import { TidemarkError } from '../platform/errors.ts'
import { fileFault } from '../platform/file-fault.ts'
import { indexHomeOf } from '../storage/index-homes.ts'
import type { Context } from './context.ts'
import { printableOnOneLine } from './printable.ts'
import { Progress } from './progress.ts'
import { withWorkbench } from './with-workbench.ts'

export function importCommand(program: Command, context: Context): void {
  program
    .command('import')
    .description(
      'Import documents from NDJSON files. The server may be running. A stopped import resumes where it stopped.',
    )
    .argument('<file...>', 'one document per line; - for standard input')
    .action(async (files: string[]) => {
      await refuseUnreadable(files)
      const { importFile } = await import('../ingest/import-file.ts')
      await withWorkbench(context, async ({ ingest, store }) => {
        lowerThreadPriority()
        const pace = await paceOf(context, store.indexSource)
        let refused = 0
        for (const file of files) {
          const path = file === '-' ? null : file
          const refusedPath = `${path ?? 'stdin'}.refused`
          const position = path === null ? null : `${path}.import`
          const name = printableOnOneLine(file)
          const bar = new Progress()
          const startedAt = Date.now()
          const line = (progress: ImportProgress) => ({
            done: progress.bytes,
            total: progress.totalBytes,
            text: summary(file, progress, Date.now() - startedAt),
          })
          // Standard input cannot be resumed, so a signal ends the import at once, as with any command.
          const stop = path === null ? null : new StopBySignal()
          const source = { path, position, refused: refusedPath }
          const report = (progress: ImportProgress): void => {
            if (progress.lines > 0) bar.show(line(progress))
            stop?.throwIfRequested(progress)
          }
          const result = await importFile(source, ingest, report, pace)
            .catch((error: unknown) => {
              if (!(error instanceof StoppedImport)) throw error
              bar.end(line(error.progress))
              return null
            })
            .finally(() => stop?.[Symbol.dispose]())
          if (result === null) {
            context.warn(`${name}: stopped; run the same command again to resume`)
            context.fail()
            return
          }
          bar.end(line(result))
          if (result.resumedAt > 0) context.say(`${name}: resumed at byte ${result.resumedAt}`)
          const erased = result.outcomes.erased ?? 0
          if (erased > 0) {
            context.warn(`${name}: ${erased} not stored: erased earlier (\`tidemark erase lift\` allows them again)`)
          }
          if (result.refused > 0)
            context.warn(`${name}: ${result.refused} refused; ${printableOnOneLine(refusedPath)} has the reasons`)
          refused += result.refused
        }
        if (refused > 0) context.fail()
      })
    })
}

/** The niceness of merges and of passages for the model, which are also background work. */
const niceness = 10

/**
 * Lowers the priority of this thread, because a running server goes first. The writer thread has already started and
 * keeps its priority, because other processes wait for the write lock that it holds.
 */
function lowerThreadPriority(): void {
  // On other systems a priority applies to the whole process.
  if (process.platform === 'linux' && getPriority() < niceness) setPriority(niceness)
}

/** Follows how much a running server has indexed: from the data folder, or from the cluster. */
async function paceOf(context: Context, source: Pick<IndexSource, 'instance' | 'newestRevision'>): Promise<Pace> {
  const home = indexHomeOf(context.config(), await source.instance())
  const read = async () => {
    const stored = await source.newestRevision()
    const searchable = await home.position()
    return searchable === null ? null : { stored, searchable }
  }
  return new Pace({ read }, { now: () => performance.now(), pause: delay })
}

/** Checks the files first, so that no store is created for unreadable ones. */
async function refuseUnreadable(files: readonly string[]): Promise<void> {
  for (const file of files.filter((one) => one !== '-')) {
    try {
      await access(file, constants.R_OK)
      if ((await stat(file)).isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    } catch (error) {
      throw new TidemarkError('invalid_request', `${printableOnOneLine(file)}: ${fileFault(error)}`)
    }
  }
}

class StoppedImport extends Error {
  readonly progress: ImportProgress

  constructor(progress: ImportProgress) {
    super('stopped')
    this.progress = progress
  }
}

/** After the first signal the current portion is finished. The second ends the process at once. */
class StopBySignal implements Disposable {
  #isStopRequested = false
  readonly #requestStop = (): void => {
    this.#isStopRequested = true
    this[Symbol.dispose]()
  }

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, this.#requestStop)
  }

  throwIfRequested(progress: ImportProgress): void {
    if (this.#isStopRequested) throw new StoppedImport(progress)
  }

  [Symbol.dispose](): void {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, this.#requestStop)
  }
}

const inWords = (outcome: string): string => (outcome === 'erased' ? 'not stored' : outcome.replace('_', ' '))

function summary(file: string, { lines, refused, outcomes, isHeldUp }: ImportProgress, elapsedMs: number): string {
  const rate = Math.round(lines / Math.max(0.001, elapsedMs / 1000))
  const kinds = Object.entries(outcomes).map(([outcome, count]) => `${count} ${inWords(outcome)}`)
  const pace = isHeldUp ? ', waiting for the search index' : ''
  return `${file}: ${[...kinds, `${refused} refused`].join(', ')}, ${rate} per second${pace}`
}
