import type { Command } from 'commander'
import { replaceAdminToken } from '../access/admin-token.ts'
import { finishRestore } from '../operator/restore-backup.ts'
import type { Context } from './context.ts'
import { commandLineActor, withWorkbench } from './with-workbench.ts'

export function adminToken(program: Command, context: Context): void {
  program
    .command('admin-token')
    .description('Replace the admin token in the data folder and print the new one once. Restart the server to use it.')
    .action(() =>
      withWorkbench(context, async ({ operator }) => {
        const { dataDir } = context.config()
        await finishRestore(dataDir)
        // Recorded first, so that the audit log has every token that is made.
        await operator.commit(commandLineActor, [{ kind: 'admin_token.replace' }])
        context.say(await replaceAdminToken(dataDir))
      }),
    )
}
