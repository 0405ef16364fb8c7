import { compose, type Instance } from '../compose.ts'
import type { Config } from '../config.ts'
import { allWritten, logWarnings, makeLogger } from './logger.ts'

/** Loaded when a server is started, and not to say which commands and settings there are. */
export async function openInstance(config: Config): Promise<Instance> {
  const log = makeLogger(config)
  logWarnings(log)
  const instance = await compose(config, log)
  return { ...instance, close: () => instance.close().finally(() => allWritten(log)) }
}
