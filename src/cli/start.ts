import type { Command } from 'commander'
import { compose } from '../compose.ts'
import type { Context } from './context.ts'
import { loadSample } from './load-sample.ts'
import { makeLogger } from './logger.ts'
import { refuseTakenPort } from './refuse-taken-port.ts'
import { addSettingFlags, overridesFrom } from './setting-flags.ts'
import { untilSignal, workThenClose } from './shutdown.ts'

export function start(program: Command, context: Context): void {
  const command = program.command('start').description('serve with the sample data loaded, and say how to begin')
  addSettingFlags(command).action(async (options: Record<string, unknown>) => {
    // A person looks at this terminal: only what went wrong is logged, unless they ask for more.
    const config = context.config({
      TIDEMARK_LOG_LEVEL: context.environment.TIDEMARK_LOG_LEVEL ?? 'warn',
      ...overridesFrom(options),
    })
    await refuseTakenPort(config)
    const instance = await compose(config, makeLogger(config))
    const ended = untilSignal()
    await workThenClose(instance, async () => {
      const { madeAdminToken } = instance
      const begun = (async () => {
        const sample = await loadSample(instance)
        return greeting(await instance.listen(), sample.key, madeAdminToken)
      })()
      context.say(
        await begun.catch((error: unknown) => {
          // It is kept from now on and will not be shown again, whatever else failed.
          if (madeAdminToken !== null) context.say(`Admin token, shown this once: ${madeAdminToken}`)
          throw error
        }),
      )
      await ended
      context.say('closing …')
    })
  })
}

function greeting(address: string, key: string, adminToken: string | null): string {
  return `
  Tidemark is up at ${address}  (reference: ${address}/docs)
${adminToken === null ? '' : `\n  Admin token, shown this once: ${adminToken}\n`}
  A consumer key for the sample data: ${key}

  Three lines to try:
    curl -s ${address}/v1/search -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"query": "tidal power", "mode": "hybrid", "include_highlights": true}'
    curl -s '${address}/v1/documents/browse?tags=strike&limit=3' -H 'Authorization: Bearer ${key}'
    curl -s '${address}/v1/changes?limit=5' -H 'Authorization: Bearer ${key}'

  Ctrl-C ends it; the data stays.
`
}
