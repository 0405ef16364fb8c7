import type { Command } from 'commander'
import { checkInput } from './check-input.ts'
import type { Context } from './context.ts'
import { deleteOrAdvise } from './delete-or-advise.ts'
import { findCollector, warningsAbout } from './find-owner.ts'
import { alignedTable, commandLineActor, withInstance, withWorkbench } from './with-workbench.ts'

export function collector(program: Command, context: Context): void {
  const command = program.command('collector').description('List, create and delete collectors.')
  command
    .command('list')
    .description('List all collectors.')
    .action(() =>
      withInstance(context, async ({ operator }) => {
        const rows = (await operator.read.collectors()).map((one) => ({
          collector: one.collectorId,
          name: one.name,
          datasets: one.datasets?.join(', ') ?? 'all',
        }))
        context.say(alignedTable(rows, 'no collectors yet: tidemark collector create NAME'))
      }),
    )
  command
    .command('create')
    .description('Create a collector and print its key once.')
    .argument('<name>')
    .option('--dataset <id...>', 'datasets it may write to (default: all)')
    .action((name: string, options: { dataset?: string[] }) =>
      withWorkbench(context, async ({ operator }) => {
        checkInput('CollectorInput', options.dataset === undefined ? { name } : { name, datasets: options.dataset })
        const others = await operator.read.collectors()
        for (const warning of await warningsAbout(operator.read, { name, datasets: options.dataset ?? [], others })) {
          context.warn(warning)
        }
        const made = await operator.createCollector(commandLineActor, { name, datasets: options.dataset ?? null })
        context.say(`collector ${made.collectorId}\nkey ${made.keyId}, shown only once: ${made.secret}`)
      }),
    )
  command
    .command('delete')
    .description('Delete a collector with its keys. The documents it sent and its entries in the audit log stay.')
    .argument('<collector>', 'its ID or name')
    .option('--force', 'even if it has a valid key or holds tasks')
    .action((idOrName: string, options: { force?: boolean }) =>
      withInstance(context, async ({ operator }) => {
        const { collectorId } = await findCollector(operator.read, idOrName)
        await deleteOrAdvise(() => operator.deleteCollector(commandLineActor, collectorId, options.force === true))
        context.say(`deleted ${collectorId}`)
      }),
    )
}
