import type { Command } from 'commander'
import { CollectorInput } from '../operator/schemas.ts'
import { checkInput } from './check-input.ts'
import type { Context } from './context.ts'
import { alignedTable, commandLineActor, withWorkbench } from './with-workbench.ts'

export function collector(program: Command, context: Context): void {
  const command = program.command('collector').description('collectors: list, create')
  command
    .command('list')
    .description('every collector')
    .action(() =>
      withWorkbench(context, async ({ operator }) => {
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
    .description('make a collector and print its key once')
    .argument('<name>')
    .option('--dataset <id...>', 'datasets it may write to; all when absent')
    .action((name: string, options: { dataset?: string[] }) =>
      withWorkbench(context, async ({ operator }) => {
        checkInput(CollectorInput, options.dataset === undefined ? { name } : { name, datasets: options.dataset })
        const made = await operator.createCollector(commandLineActor, { name, datasets: options.dataset ?? null })
        context.say(`collector ${made.collectorId}\nkey ${made.keyId}, shown this once: ${made.secret}`)
      }),
    )
}
