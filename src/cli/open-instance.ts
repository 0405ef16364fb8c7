import { compose, type Instance } from '../compose/compose.ts'
import type { Config } from '../settings/config.ts'
import { allWritten, logWarnings, makeLogger } from './logger.ts'

/** In a file of its own, which is loaded only to start a server and not to list commands and settings. */
export async function openInstance(config: Config): Promise<Instance> {
  const log = makeLogger(config)
  logWarnings(log)
  const instance = await compose(config, log)
  return { ...instance, close: () => instance.close().finally(() => allWritten(log)) }
}
