import type { Command } from 'commander'
import { formatTime } from '../platform/time.ts'
import type { Context } from './context.ts'
import { commandLineActor, withInstance } from './with-workbench.ts'

export function clock(program: Command, context: Context): void {
  const command = program
    .command('clock')
    .description('Confirm the clock, if it was found far ahead and the removal of old data has stopped.')
  command
    .command('show')
    .description('Show the clock, and the latest time that was trusted.')
    .action(() =>
      withInstance(context, async ({ store }) => {
        const believed = await store.clock.trustedUntil()
        context.say(`the clock of this machine: ${formatTime(Date.now())}`)
        context.say(`trusted up to: ${believed === null ? 'not known yet' : formatTime(believed)}`)
      }),
    )
  command
    .command('confirm')
    .description(
      'Confirm that the clock of this machine is right. The removal of old data then continues by this clock.',
    )
    .action(() =>
      withInstance(context, async ({ store }) => {
        const at = Date.now()
        await store.clock.confirm({ actor: commandLineActor, at })
        context.say(`confirmed: it is ${formatTime(at)}; a running server continues within seconds`)
      }),
    )
}
