import type { Command } from 'commander'
import { rebuildIndex } from '../indexing/rebuild-index.ts'
import { indexHomeOf } from '../storage/index-homes.ts'
import { buildingElection } from '../storage/open-store.ts'
import type { Context } from './context.ts'
import { Progress } from './progress.ts'
import { withInstance } from './with-workbench.ts'

export function reindex(program: Command, context: Context): void {
  program
    .command('reindex')
    .description('Rebuild the search index from the store. Searches continue on the current one meanwhile.')
    .action(() =>
      withInstance(
        context,
        async ({ store, elected }) => {
          const home = indexHomeOf(context.config(), await store.indexSource.instance())
          // While this process leads the election, servers of another version do not remove the new index.
          if (home.version !== null) await elected(buildingElection(home.version))
          const bar = new Progress()
          const startedAt = Date.now()
          const line = (documents: number): string =>
            `${documents} documents, ${Math.round(documents / Math.max(0.001, (Date.now() - startedAt) / 1000))} per second`
          let last = { done: 1, total: 1 }
          const { documents, resumedAt } = await rebuildIndex(home, store.indexSource, (state) => {
            last = state
            bar.show({ ...state, text: line(state.documents) })
          })
          bar.end({ done: last.total, total: last.total, text: line(documents) })
          if (resumedAt > 0) context.say('resumed an earlier rebuild')
          context.say('done: a running server switches to the new index within seconds')
          const { waitingVectors } = await store.indexSource.backlog(await store.indexSource.newestRevision())
          if (waitingVectors > 0) {
            context.say(
              `${waitingVectors} vectors are still missing; a running server makes them (tidemark doctor says how fast)`,
            )
          }
        },
        // With many callers, readers map the file into memory.
        'many',
      ),
    )
}
