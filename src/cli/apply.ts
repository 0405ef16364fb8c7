import type { Command } from 'commander'
import type { Context } from './context.ts'

export function apply(program: Command, context: Context): void {
  program
    .command('apply')
    .description('make the instance as a YAML file says; again changes nothing')
    .argument('<file>', 'datasets, classifications, embedding_profiles, applications, collectors, admin_tokens')
    .option('--dry-run', 'only show the difference')
    .action(async (path: string, options: { dryRun?: boolean }) => {
      const { applyFile } = await import('./apply-file.ts')
      await applyFile(context, path, options)
    })
}
