import type { Command } from 'commander'
import type { Workbench } from '../compose/compose-workbench.ts'
import type { Erasure, Selection } from '../operator/erasure-store.ts'
import { authorNow, datasetNow, Erasures } from '../operator/erasures.ts'
import { TidemarkError } from '../platform/errors.ts'
import { quoted } from '../platform/quoted.ts'
import { formatTime } from '../platform/time.ts'
import { confirm } from './confirm.ts'
import type { Context } from './context.ts'
import { counted } from './counted.ts'
import { Progress } from './progress.ts'
import { alignedTable, commandLineActor, withInstance } from './with-workbench.ts'

const hiddenAtOnce = 200
const removedAtOnce = 20
const listed = 50

interface EraseOptions {
  readonly tombstones: boolean
  readonly purgeArtifacts?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
}

interface Target {
  readonly selection: Selection
  readonly deletesDataset?: boolean
}

interface NamedTarget extends Target {
  /** The words after "3 documents". */
  readonly inWords: string
}

export function erase(program: Command, context: Context): void {
  const command = program
    .command('erase')
    .description('Erase documents for good, list erasures, and lift the tombstones of erased documents.')
  const by = (name: string, description: string) =>
    command
      .command(name)
      .description(description)
      .option('--dry-run', 'show how many documents would be erased, and erase nothing')
      .option('--yes', 'do not ask for confirmation; required without a terminal')
      .option('--no-tombstones', 'accept the documents again if they are sent again')
      .option('--purge-artifacts', 'also delete analysis runs that may contain one of the documents')
  const begin = (target: NamedTarget, options: EraseOptions) =>
    withInstance(context, async (bench) => {
      if (await confirmTarget(context, bench, target, options)) await eraseNow(context, bench, target, options)
    })

  by('documents', 'Erase documents, with all their versions.')
    .argument('<document_id...>')
    .action((ids: string[], options: EraseOptions) => {
      const documentIds = [...new Set(ids)]
      return begin(
        { selection: { documentIds }, inWords: documentIds.length === 1 ? 'with this ID' : 'with these IDs' },
        options,
      )
    })
  by('author', 'Erase all documents that an author has now.')
    .argument('<dataset>')
    .argument('<platform>')
    .argument('<author>', 'the ID of the author on the platform')
    .action((datasetId: string, platform: string, externalAuthorId: string, options: EraseOptions) => {
      const selection = authorNow({ datasetId, platform, externalAuthorId })
      const inWords = `by author ${quoted(externalAuthorId)} on ${quoted(platform)} in dataset ${quoted(datasetId)}`
      return begin({ selection, inWords }, options)
    })
  by('person', 'Erase all documents that a person has now, in every dataset.')
    .argument('<platform=author...>', 'the IDs of the person on each platform, such as rss=u1 forum=jane')
    .action((names: string[], options: EraseOptions) =>
      withInstance(context, (bench) => erasePerson(context, bench, names, options)),
    )
  by('dataset', 'Erase all documents that a dataset has now.')
    .argument('<dataset>')
    .option('--delete', 'also delete the dataset; its documents leave no tombstones')
    .action((datasetId: string, options: EraseOptions & { readonly delete?: boolean }) => {
      const deletesDataset = options.delete === true
      const selection = datasetNow(datasetId, deletesDataset)
      const inWords = `in dataset ${quoted(datasetId)}${deletesDataset ? ', and the dataset itself' : ''}`
      return begin({ selection, inWords, deletesDataset }, options)
    })
  command
    .command('list')
    .description(`List the last ${listed} erasures.`)
    .action(() =>
      withInstance(context, async (bench) => {
        const erasures = await erasuresOf(bench).erasures({ before: null, limit: listed })
        const rows = erasures.map(({ erasureId, status, documents, removed, createdAt }) => ({
          erasure: erasureId,
          status,
          documents: String(documents),
          removed: String(removed),
          started: formatTime(createdAt),
        }))
        context.say(alignedTable(rows, 'nothing has been erased'))
      }),
    )
  command
    .command('lift')
    .description('Accept an erased document, or all documents of an erasure, when they are sent again.')
    .argument('[dataset]')
    .argument('[platform]')
    .argument('[external_id]')
    .option('--erasure <erasure_id>', 'all documents of this erasure; `tidemark erase list` shows the IDs')
    .option('--dry-run', 'with --erasure: show how many documents, and change nothing')
    .action((...given: LiftArguments) => lift(context, given))
}

type LiftArguments = [
  datasetId: string | undefined,
  platform: string | undefined,
  externalId: string | undefined,
  options: { readonly erasure?: string; readonly dryRun?: boolean },
]

function lift(context: Context, [datasetId, platform, externalId, options]: LiftArguments): Promise<void> {
  const { erasure, dryRun = false } = options
  const isOne = externalId !== undefined && erasure === undefined && !dryRun
  if (!isOne && (erasure === undefined || datasetId !== undefined)) {
    throw new TidemarkError('invalid_request', 'give either DATASET PLATFORM EXTERNAL_ID or --erasure ERASURE_ID')
  }
  return withInstance(context, async (bench) => {
    const erasures = erasuresOf(bench)
    if (isOne) {
      await erasures.lift(commandLineActor, { datasetId: datasetId!, platform: platform!, externalId })
      context.say('the document is accepted when it is sent again')
      return
    }
    const documents = await erasures.liftAll(commandLineActor, erasure!, { dryRun })
    const start = dryRun ? 'would lift' : 'lifted'
    context.say(
      documents === 0 ? 'no tombstones left to lift' : `${start} the tombstones of ${counted(documents, 'document')}`,
    )
  })
}

const erasuresOf = ({ store }: Workbench): Erasures => new Erasures({ store: store.erasures, hidden: async () => {} })

/** Reports how many documents there are, and asks for confirmation. Fails if there are none: a name may be wrong. */
async function confirmTarget(
  context: Context,
  bench: Workbench,
  { selection, inWords, deletesDataset = false }: NamedTarget,
  { dryRun = false, yes = false }: EraseOptions,
): Promise<boolean> {
  const documents = await erasuresOf(bench).count(selection)
  if (documents === 0 && !deletesDataset) throw new TidemarkError('not_found', `found no documents ${inWords}`)
  const unknown = 'documentIds' in selection ? selection.documentIds.length - documents : 0
  if (unknown > 0) context.warn(`no document found for ${unknown} of the IDs`)
  return confirmErasure(context, `${counted(documents, 'document')} ${inWords}`, { dryRun, yes })
}

/** Asks for confirmation, unless it is a dry run. */
async function confirmErasure(
  context: Context,
  target: string,
  { dryRun = false, yes = false }: Pick<EraseOptions, 'dryRun' | 'yes'>,
): Promise<boolean> {
  if (dryRun) context.say(`would erase ${target}`)
  else if (await confirm(`erase ${target}`, yes)) return true
  else {
    context.warn('nothing was erased')
    context.fail()
  }
  return false
}

/**
 * Erases the documents of a person, who may have an ID on each platform and documents in any dataset. Asks once for all
 * of them.
 */
async function erasePerson(
  context: Context,
  bench: Workbench,
  names: readonly string[],
  options: EraseOptions,
): Promise<void> {
  const datasets = await bench.operator.read.datasets()
  const targets: Target[] = []
  const rows: Record<string, string>[] = []
  let all = 0
  for (const name of new Set(names)) {
    const [, platform, externalAuthorId] = /^([^=]+)=(.+)$/s.exec(name) ?? []
    if (platform === undefined || externalAuthorId === undefined) {
      throw new TidemarkError('invalid_request', `${quoted(name)} must be PLATFORM=AUTHOR, such as rss=u1`)
    }
    const before = all
    for (const { datasetId } of datasets) {
      const selection = authorNow({ datasetId, platform, externalAuthorId })
      const documents = await erasuresOf(bench).count(selection)
      if (documents === 0) continue
      all += documents
      targets.push({ selection })
      rows.push({ dataset: datasetId, platform, author: externalAuthorId, documents: String(documents) })
    }
    if (all === before) context.warn(`found no documents by ${quoted(name)}`)
  }
  if (all === 0) throw new TidemarkError('not_found', 'found no documents by these authors in any dataset')
  context.say(alignedTable(rows, ''))
  if (!(await confirmErasure(context, `${counted(all, 'document')} by these authors`, options))) return
  for (const target of targets) await eraseNow(context, bench, target, options)
}

async function eraseNow(
  context: Context,
  bench: Workbench,
  { selection, deletesDataset = false }: Target,
  { tombstones, purgeArtifacts = false }: EraseOptions,
): Promise<void> {
  const keepTombstones = tombstones && !deletesDataset
  const requested = { selection, deletesDataset, mustExist: 'documentIds' in selection, keepTombstones, purgeArtifacts }
  await finish(context, bench, await erasuresOf(bench).begin(commandLineActor, requested))
}

/** Hides and removes the documents in the store. The search index needs a server. */
async function finish(context: Context, { store: { erasures } }: Workbench, { erasureId }: Erasure): Promise<void> {
  const bar = new Progress()
  let hidden = 0
  while (await erasures.hide(erasureId, hiddenAtOnce, Date.now())) {
    hidden += hiddenAtOnce
    bar.show({ done: 0, total: null, text: `${counted(hidden, 'document')} hidden` })
  }
  const { documents, artifactRunIds } = (await erasures.erasure(erasureId))!
  const line = (done: number) => ({
    done,
    total: documents,
    text: `${done} of ${counted(documents, 'document')} removed`,
  })
  let removed = 0
  while (await erasures.remove(erasureId, removedAtOnce)) {
    removed = Math.min(documents, removed + removedAtOnce)
    bar.show(line(removed))
  }
  bar.end(line(documents))
  context.say(`${erasureId}: erased ${counted(documents, 'document')} from the store`)
  if (artifactRunIds.length > 0) {
    context.say(`analysis runs that may contain one of them: ${artifactRunIds.join(' ')}`)
  }
  context.say(
    'a running server, or the next one to start, removes them from the search index and completes the erasure',
  )
}
