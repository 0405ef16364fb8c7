import type { Command } from 'commander'
import type { Context } from './context.ts'
import { greeting, signInAddress } from './greeting.ts'
import { openInBrowser } from './open-in-browser.ts'
import { refuseTakenPort } from './refuse-taken-port.ts'
import { addSettingFlags, overridesFrom } from './setting-flags.ts'
import { untilSignal, workThenClose } from './shutdown.ts'
import { waitForIndex } from './wait-for-index.ts'

export function start(program: Command, context: Context): void {
  const command = program.command('start').description('serve with the sample data loaded, and say how to begin')
  command.option('--open', 'show the console in a browser, signed in')
  addSettingFlags(command).action(async (options: Record<string, unknown>) => {
    // A person looks at this terminal: only what went wrong is logged, unless they ask for more.
    const config = context.config({
      TIDEMARK_LOG_LEVEL: context.environment.TIDEMARK_LOG_LEVEL ?? 'warn',
      ...overridesFrom(options),
    })
    await refuseTakenPort(config)
    const { openInstance } = await import('./open-instance.ts')
    const { loadSample } = await import('./load-sample.ts')
    const instance = await openInstance(config)
    const ended = untilSignal()
    await workThenClose(instance, async () => {
      const { madeAdminToken } = instance
      const begun = (async () => {
        const sample = await loadSample(instance)
        // Every way to search has its answers from the first request on. What an operator brought is not waited for.
        if (sample.documents > 0 && instance.indexBacklog !== null) await waitForIndex(instance.indexBacklog, ended)
        const signInCode = instance.signInCodes.issue(sample.key)
        return { address: await instance.listen(), adminToken: madeAdminToken, signInCode, ...sample }
      })()
      const greeted = await begun.catch((error: unknown) => {
        // It is kept from now on and will not be shown again, whatever else failed.
        if (madeAdminToken !== null) context.say(`Admin token, shown only once: ${madeAdminToken}`)
        throw error
      })
      context.say(greeting(greeted))
      const fault = options.open === true ? await openInBrowser(signInAddress(greeted)) : null
      if (fault !== null) context.say(`The browser was not opened: ${fault}`)
      await ended
      context.say('closing …')
    })
  })
}
