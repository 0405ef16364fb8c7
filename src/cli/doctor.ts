import type { Command } from 'commander'
import { examine } from '../operator/examine.ts'
import type { Context } from './context.ts'
import { withWorkbench } from './with-workbench.ts'

const marks = { ok: '  ok   ', warning: '  note ', failure: '  FAIL ' } as const

export function doctor(program: Command, context: Context): void {
  program
    .command('doctor')
    .description('say what is wrong with the installation and what to do about it')
    .action(async () => {
      const config = context.config()
      context.say('  ok    settings: all valid')
      const findings = await withWorkbench(context, ({ operator }) => examine(operator.read, config.dataDir))
      for (const { state, about, advice } of findings) {
        context.say(`${marks[state]} ${about}${advice === null ? '' : `\n         do: ${advice}`}`)
      }
      if (findings.some(({ state }) => state === 'failure')) context.fail()
    })
}
