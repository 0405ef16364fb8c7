import { mkdir } from 'node:fs/promises'
import type { Command } from 'commander'
import { replaceAdminToken } from '../access/admin-token.ts'
import { finishRestore } from '../operator/restore-backup.ts'
import type { Context } from './context.ts'

export function adminToken(program: Command, context: Context): void {
  program
    .command('admin-token')
    .description('make a new admin token in place of the kept one and print it once; restart the server to use it')
    .action(async () => {
      const config = context.config()
      await mkdir(config.dataDir, { recursive: true })
      await finishRestore(config.dataDir)
      context.say(await replaceAdminToken(config.dataDir))
    })
}
