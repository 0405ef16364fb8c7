import type { Command } from 'commander'
import { composeWorkbench } from '../compose/compose-workbench.ts'
import type { Context } from './context.ts'

export function migrate(program: Command, context: Context): void {
  program
    .command('migrate')
    .description('Upgrade the store to this version. `serve` does this too.')
    .action(async () => {
      const bench = await composeWorkbench(context.config())
      await bench.close()
      context.say(bench.migrated.length === 0 ? 'up to date' : `applied: ${bench.migrated.join(', ')}`)
    })
}
