import type { Command } from 'commander'
import { rebuildIndex } from '../search/rebuild-index.ts'
import { indexHomeOf } from '../storage/index-homes.ts'
import type { Context } from './context.ts'
import { Progress } from './progress.ts'
import { withInstance } from './with-workbench.ts'

export function reindex(program: Command, context: Context): void {
  program
    .command('reindex')
    .description('build the search index anew from the store, beside the one in use; searches go on meanwhile')
    .action(() =>
      withInstance(
        context,
        async ({ store }) => {
          const home = indexHomeOf(context.config(), await store.indexSource.instance())
          const bar = new Progress()
          const startedAt = Date.now()
          const line = (documents: number): string =>
            `${documents} documents, ${Math.round(documents / Math.max(0.001, (Date.now() - startedAt) / 1000))} a second`
          let last = { done: 1, total: 1 }
          const { documents, resumedAt } = await rebuildIndex(home, store.indexSource, (state) => {
            last = state
            bar.show({ ...state, text: line(state.documents) })
          })
          bar.end({ done: last.total, total: last.total, text: line(documents) })
          if (resumedAt > 0) context.say('went on where an earlier rebuild was stopped')
          context.say('done: a running server takes the new index over within seconds')
          const { waitingVectors } = await store.indexSource.backlog(await store.indexSource.newestRevision())
          if (waitingVectors > 0) {
            context.say(
              `${waitingVectors} vectors are still to be made, by a running server: tidemark doctor says how fast`,
            )
          }
        },
        // Readers see the file as memory.
        'many',
      ),
    )
}
