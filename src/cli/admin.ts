import { type Command, Option } from 'commander'
import { type Role, roles } from '../access/roles.ts'
import { roleOf } from '../operator/answers.ts'
import { formatTime } from '../platform/time.ts'
import { checkInput } from './check-input.ts'
import type { Context } from './context.ts'
import { expiresOption } from './expires-option.ts'
import { findToken } from './find-owner.ts'
import { keyState } from './key.ts'
import { alignedTable, commandLineActor, withInstance, withWorkbench } from './with-workbench.ts'

export function admin(program: Command, context: Context): void {
  const command = program
    .command('admin')
    .description('List, create and revoke admin tokens, one for each administrator.')
  command
    .command('list')
    .description('List admin tokens, except the one from the settings or the data folder.')
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
        context.say(alignedTable(rows, 'no admin tokens yet: tidemark admin create NAME --role operator'))
      }),
    )
  command
    .command('create')
    .description('Create an admin token and print it once.')
    .argument('<name>', 'who uses it; shown in the audit log')
    .addOption(
      new Option('--role <role>', 'viewer reads, operator does everyday work, owner may do everything')
        .choices(roles)
        .makeOptionMandatory(),
    )
    .addOption(expiresOption())
    .action((name: string, options: { role: Role; expires?: number }) =>
      withWorkbench(context, async ({ operator }) => {
        const { role, expires: expiresAt = null } = options
        checkInput('TokenInput', { name, role })
        const made = await operator.createToken(commandLineActor, { name, role, expiresAt })
        context.say(`admin token ${made.keyId}, shown only once: ${made.secret}`)
      }),
    )
  command
    .command('revoke')
    .description('Revoke an admin token.')
    .argument('<token>', 'its ID, tok_…, or its name')
    .action((idOrName: string) =>
      withInstance(context, async ({ operator }) => {
        const { keyId } = findToken(await operator.tokens(), idOrName)
        await operator.revokeToken(commandLineActor, keyId)
        context.say(`revoked ${keyId}`)
      }),
    )
}
