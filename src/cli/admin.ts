import { type Command, Option } from 'commander'
import { type Role, roles } from '../access/roles.ts'
import { roleOf } from '../operator/answers.ts'
import { formatTime } from '../time.ts'
import { checkInput } from './check-input.ts'
import type { Context } from './context.ts'
import { findToken } from './find-owner.ts'
import { futureTime, keyState } from './key.ts'
import { alignedTable, commandLineActor, withInstance, withWorkbench } from './with-workbench.ts'

export function admin(program: Command, context: Context): void {
  const command = program.command('admin').description('named administrators, by their tokens: list, create, revoke')
  command
    .command('list')
    .description('every admin token but the one that is set or kept in the data folder')
    .action(() =>
      withInstance(context, async ({ operator }) => {
        const rows = (await operator.tokens()).map((one) => ({
          token: one.keyId,
          name: one.name ?? '',
          role: roleOf(one),
          starts: `${one.prefix}…`,
          state: keyState(one),
          expires: one.expiresAt === null ? 'never' : formatTime(one.expiresAt),
          'last used': one.lastUsedAt === null ? 'never' : formatTime(one.lastUsedAt),
        }))
        context.say(alignedTable(rows, 'no named administrators yet: tidemark admin create NAME --role operator'))
      }),
    )
  command
    .command('create')
    .description('make an admin token and print it once')
    .argument('<name>', 'of whoever uses it, for the audit log')
    .addOption(
      new Option('--role <role>', 'viewer reads, operator does the everyday work, owner everything')
        .choices(roles)
        .makeOptionMandatory(),
    )
    .option('--expires <time>', 'RFC 3339', futureTime)
    .action((name: string, options: { role: Role; expires?: number }) =>
      withWorkbench(context, async ({ operator }) => {
        const { role, expires: expiresAt = null } = options
        await checkInput('TokenInput', { name, role })
        const made = await operator.createToken(commandLineActor, { name, role, expiresAt })
        context.say(`admin token ${made.keyId}, shown only once: ${made.secret}`)
      }),
    )
  command
    .command('revoke')
    .description('refuse an admin token from now on')
    .argument('<token>', 'its id, tok_…, or its name')
    .action((idOrName: string) =>
      withInstance(context, async ({ operator }) => {
        const { keyId } = findToken(await operator.tokens(), idOrName)
        await operator.revokeToken(commandLineActor, keyId)
        context.say(`revoked ${keyId}`)
      }),
    )
}
