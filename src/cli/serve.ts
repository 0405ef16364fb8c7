import type { Command } from 'commander'
import type { Context } from './context.ts'
import { refuseTakenPort } from './refuse-taken-port.ts'
import { addSettingFlags, overridesFrom } from './setting-flags.ts'
import { showAdminToken } from './show-admin-token.ts'
import { untilSignal, workThenClose } from './shutdown.ts'

export function serve(program: Command, context: Context): void {
  const command = program.command('serve').description('Run the server.')
  addSettingFlags(command).action(async (options: Record<string, unknown>) => {
    const config = context.config(overridesFrom(options))
    await refuseTakenPort(config)
    const { openInstance } = await import('./open-instance.ts')
    const instance = await openInstance(config)
    const ended = untilSignal()
    await workThenClose(instance, async () => {
      await showAdminToken(instance, context.say)
      context.say(`Tidemark serves ${await instance.listen()}`)
      await ended
    })
  })
}
