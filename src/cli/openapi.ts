import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { Context } from './context.ts'

export function openapi(program: Command, context: Context): void {
  program
    .command('openapi')
    .description('Print the OpenAPI 3.1 description.')
    .action(async () => {
      const { pino } = await import('pino')
      const { compose } = await import('../compose/compose.ts')
      // The description comes from the routes, which need a store: a temporary empty one.
      const folder = await mkdtemp(join(tmpdir(), 'tidemark-openapi-'))
      try {
        const instance = await compose(
          { ...context.config(), dataDir: folder, adminToken: null },
          pino({ level: 'silent' }),
        )
        context.say(JSON.stringify(await instance.app.describe(), null, 2))
        await instance.close()
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
}
