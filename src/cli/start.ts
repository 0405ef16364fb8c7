import { spawn } from 'node:child_process'
import type { Command } from 'commander'
import { TidemarkError } from '../platform/errors.ts'
import type { Context } from './context.ts'
import { greeting, signInAddress } from './greeting.ts'
import { refuseTakenPort } from './refuse-taken-port.ts'
import { earlierSample, sampleFolder } from './sample-folder.ts'
import { addSettingFlags, overridesFrom } from './setting-flags.ts'
import { showAdminToken } from './show-admin-token.ts'
import { untilSignal, workThenClose } from './shutdown.ts'
import { waitForIndex } from './wait-for-index.ts'

const browserCommands: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

export function start(program: Command, context: Context): void {
  const command = program.command('start').description('Serve with sample data, and print how to try it.')
  command.option('--open', 'open the console in a browser, signed in')
  addSettingFlags(command).action(async (options: Record<string, unknown>) => {
    // A person watches this terminal, so only warnings and errors are logged unless the setting says otherwise.
    const config = context.config({
      TIDEMARK_LOG_LEVEL: context.environment.TIDEMARK_LOG_LEVEL ?? 'warn',
      TIDEMARK_DATA_DIR: context.environment.TIDEMARK_DATA_DIR || sampleFolder,
      ...overridesFrom(options),
    })
    await refuseTakenPort(config)
    const note = earlierSample(config)
    if (note !== null) context.say(`\n  ${note}`)
    const { openInstance } = await import('./open-instance.ts')
    const { keyToSample, loadSample, refuseOtherData } = await import('./load-sample.ts')
    const instance = await openInstance(config)
    const ended = untilSignal()
    const stop = new AbortController()
    void ended.then(() => stop.abort())

    const showSample = async (address: string): Promise<void> => {
      const created = await loadSample(instance, stop.signal)
      // Waits until every printed example has results in each search mode, but only if this start has loaded the
      // sample.
      if (created > 0 && instance.indexBacklog !== null) await waitForIndex(instance.indexBacklog, ended)
      if (stop.signal.aborted) return
      const sample = await keyToSample(instance)
      if (stop.signal.aborted) return
      const greeted = {
        address,
        signInCode: instance.signInCodes.issue(sample.key),
        dataDir: config.databaseUrl === null ? config.dataDir : null,
        ...sample,
      }
      context.say(greeting(greeted))
      const fault = options.open === true ? await openInBrowser(signInAddress(greeted)) : null
      if (fault !== null) context.say(`Could not open a browser: ${fault}`)
    }

    await workThenClose(instance, async () => {
      await showAdminToken(instance, (text) => context.say(`\n  ${text}`))
      await refuseOtherData(instance)
      const address = await instance.listen()
      context.say(`\n  Tidemark is up at ${address}  (reference: ${address}/docs)\n`)
      await showSample(address).catch((error) => {
        if (!isGone(error)) throw error
        context.say(`  The sample has been deleted (${error.message}); Tidemark keeps running without it.`)
      })
      await ended
      context.say('closing …')
    })
  })
}

/** An administrator may delete the sample as soon as the server is up, even while it loads. */
const isGone = (error: unknown): error is TidemarkError =>
  error instanceof TidemarkError && (error.code === 'not_found' || error.code === 'conflict')

/** Opens an address in the default browser. Returns why that failed, or null. */
function openInBrowser(address: string): Promise<string | null> {
  const [command, ...before] = browserCommands[process.platform] ?? ['xdg-open']
  return new Promise((resolve) => {
    const child = spawn(command, [...before, address], { stdio: 'ignore', detached: true })
    child.once('error', (error) => resolve(`${command} failed to start: ${error.message}`))
    child.once('spawn', () => {
      child.unref()
      resolve(null)
    })
  })
}
