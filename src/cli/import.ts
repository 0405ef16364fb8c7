import type { Command } from 'commander'
import { type ImportProgress, importFile } from '../ingest/import-file.ts'
import type { Context } from './context.ts'
import { Progress } from './progress.ts'
import { withWorkbench } from './with-workbench.ts'

export function importCommand(program: Command, context: Context): void {
  program
    .command('import')
    .description(
      'put NDJSON files into the store; a stopped import goes on where it was, a running server sees it at once',
    )
    .argument('<file...>', 'one document a line; - for standard input')
    .action((files: string[]) =>
      withWorkbench(context, async ({ ingest }) => {
        let refused = 0
        for (const file of files) {
          const path = file === '-' ? null : file
          const refusedPath = `${path ?? 'stdin'}.refused`
          const position = path === null ? null : `${path}.import`
          const bar = new Progress()
          const startedAt = Date.now()
          const line = (progress: ImportProgress) => ({
            done: progress.bytes,
            total: progress.totalBytes,
            text: summary(file, progress, Date.now() - startedAt),
          })
          const result = await importFile({ path, position, refused: refusedPath }, ingest, (progress) => {
            if (progress.lines > 0) bar.show(line(progress))
          })
          bar.end(line(result))
          if (result.resumedAt > 0) context.say(`${file}: went on at byte ${result.resumedAt}`)
          if (result.refused > 0) context.warn(`${file}: ${result.refused} refused, with reasons in ${refusedPath}`)
          refused += result.refused
        }
        if (refused > 0) context.fail()
      }),
    )
}

function summary(file: string, { lines, refused, outcomes }: ImportProgress, elapsedMs: number): string {
  const rate = Math.round(lines / Math.max(0.001, elapsedMs / 1000))
  const kinds = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome.replace('_', ' ')}`)
  return `${file}: ${[...kinds, `${refused} refused`].join(', ')}, ${rate} a second`
}
