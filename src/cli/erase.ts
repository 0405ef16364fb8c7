import type { Command } from 'commander'
import type { Workbench } from '../compose-workbench.ts'
import type { Erasure, Selection } from '../operator/erasure-store.ts'
import { Erasures } from '../operator/erasures.ts'
import { formatTime } from '../time.ts'
import type { Context } from './context.ts'
import { Progress } from './progress.ts'
import { alignedTable, commandLineActor, withInstance } from './with-workbench.ts'

const hiddenAtOnce = 200
const removedAtOnce = 20
const listed = 50

interface EraseOptions {
  readonly tombstones: boolean
  readonly purgeArtifacts?: boolean
}

export function erase(program: Command, context: Context): void {
  const command = program
    .command('erase')
    .description('documents that are to be forgotten: documents, author, dataset, list, lift')
  const by = (name: string, description: string) =>
    command
      .command(name)
      .description(description)
      .option('--no-tombstones', 'they may be sent in again')
      .option('--purge-artifacts', 'delete analysis runs that may contain one of them')
  const begin = (selection: Selection, { tombstones, purgeArtifacts = false }: EraseOptions) =>
    withInstance(context, async (bench) => {
      const mustExist = 'documentIds' in selection
      const request = { selection, keepTombstones: tombstones, purgeArtifacts, mustExist }
      const begun = await erasuresOf(bench).begin(commandLineActor, request)
      const unknown = mustExist ? new Set(selection.documentIds).size - begun.documents : 0
      if (unknown > 0) context.say(`${unknown} of the ids name no document that is there, and are passed over`)
      await finish(context, bench, begun)
    })

  by('documents', 'erase documents, every version of them')
    .argument('<document_id...>')
    .action((documentIds: string[], options: EraseOptions) => begin({ documentIds }, options))
  by('author', 'erase all documents of an author')
    .argument('<dataset>')
    .argument('<platform>')
    .argument('<author>', 'its id on the platform')
    .action((datasetId: string, platform: string, externalAuthorId: string, options: EraseOptions) =>
      begin({ author: { datasetId, platform, externalAuthorId } }, options),
    )
  by('dataset', 'erase all documents that a dataset has; with --delete the dataset too')
    .argument('<dataset>')
    .option('--delete', 'the dataset goes with them, and its documents leave no tombstones')
    .action((datasetId: string, options: EraseOptions & { readonly delete?: boolean }) => {
      const deletesDataset = options.delete === true
      const keepTombstones = options.tombstones && !deletesDataset
      const asked = { keepTombstones, purgeArtifacts: options.purgeArtifacts ?? false, deletesDataset }
      return withInstance(context, async (bench) =>
        finish(context, bench, await erasuresOf(bench).eraseDataset(commandLineActor, datasetId, asked)),
      )
    })
  command
    .command('list')
    .description(`the last ${listed} erasures`)
    .action(() =>
      withInstance(context, async (bench) => {
        const erasures = await erasuresOf(bench).erasures({ before: null, limit: listed })
        const rows = erasures.map(({ erasureId, status, documents, removed, createdAt }) => ({
          erasure: erasureId,
          status,
          documents: String(documents),
          removed: String(removed),
          begun: formatTime(createdAt),
        }))
        context.say(alignedTable(rows, 'nothing was ever erased'))
      }),
    )
  command
    .command('lift')
    .description('let a document that was erased come in again')
    .argument('<dataset>')
    .argument('<platform>')
    .argument('<external_id>')
    .action((datasetId: string, platform: string, externalId: string) =>
      withInstance(context, async (bench) => {
        await erasuresOf(bench).lift(commandLineActor, { datasetId, platform, externalId })
        context.say('it is taken when it is sent in the next time')
      }),
    )
}

const erasuresOf = ({ store }: Workbench): Erasures => new Erasures({ store: store.erasures, hidden: async () => {} })

/** What can be done without a server. */
async function finish(context: Context, { store: { erasures } }: Workbench, { erasureId }: Erasure): Promise<void> {
  const bar = new Progress()
  let hidden = 0
  while (await erasures.hide(erasureId, hiddenAtOnce, Date.now())) {
    hidden += hiddenAtOnce
    bar.show({ done: 0, total: null, text: `${hidden} documents are out of sight` })
  }
  const { documents, artifactRunIds } = (await erasures.erasure(erasureId))!
  const line = (done: number) => ({ done, total: documents, text: `${done} of ${documents} documents removed` })
  let removed = 0
  while (await erasures.remove(erasureId, removedAtOnce)) {
    removed += removedAtOnce
    bar.show(line(removed))
  }
  bar.end(line(documents))
  context.say(`${erasureId}: ${documents} documents are gone from the store`)
  if (artifactRunIds.length > 0) context.say(`analysis runs that may contain one: ${artifactRunIds.join(' ')}`)
  context.say('a running server, or the next one that starts, takes them out of its search index and completes it')
}
