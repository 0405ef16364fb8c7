import type { Command } from 'commander'
import { applyFile } from './apply-file.ts'
import type { Context } from './context.ts'

export function apply(program: Command, context: Context): void {
  program
    .command('apply')
    .description('Apply a YAML file to the instance. Safe to run repeatedly.')
    .argument('<file>', 'docs/instance-file.md describes it; sample/instance.yaml is an example')
    .option('--dry-run', 'show what would change, and change nothing')
    .action(async (path: string, options: { dryRun?: boolean }) => {
      await applyFile(context, path, options)
    })
}
