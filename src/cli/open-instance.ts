import { compose, type Instance } from '../compose/compose.ts'
import type { Config } from '../settings/config.ts'
import { allWritten, logWarnings, makeLogger } from './logger.ts'

/** Loaded only to start a server, not to list commands and settings. */
export async function openInstance(config: Config): Promise<Instance> {
  const log = makeLogger(config)
  logWarnings(log)
  const instance = await compose(config, log)
  return { ...instance, close: () => instance.close().finally(() => allWritten(log)) }
}
