import type { Command } from 'commander'
import { makeSigningKey } from '../platform/cursors.ts'
import { dayMs } from '../platform/time.ts'
import type { Context } from './context.ts'
import { counted } from './counted.ts'
import { withInstance } from './with-workbench.ts'

/** Cursors expire sooner than this, so a replaced key is not needed for longer. */
const keptDays = 31

export function cursorKey(program: Command, context: Context): void {
  const command = program.command('cursor-key').description('Rotate the key that signs paging cursors.')
  command
    .command('rotate')
    .description('Sign new cursors with a new key. Older cursors stay valid.')
    .option('--drop-old', 'delete all older keys: every cursor issued so far becomes invalid')
    .action((options: { dropOld?: boolean }) =>
      withInstance(context, async ({ store }) => {
        const key = makeSigningKey(Date.now())
        await store.access.addSigningKey(key, false)
        const before = options.dropOld === true ? key.createdAt : key.createdAt - keptDays * dayMs
        const gone = await store.access.removeSigningKeysBefore(before)
        context.say(`new cursors are signed with ${key.keyId}; deleted ${counted(gone, 'old key')}`)
      }),
    )
}
