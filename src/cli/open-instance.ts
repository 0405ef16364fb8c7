import { compose, type Instance } from '../compose.ts'
import type { Config } from '../config.ts'
import { logWarnings, makeLogger } from './logger.ts'

/** Loaded when a server is started, and not to say which commands and settings there are. */
export function openInstance(config: Config): Promise<Instance> {
  const log = makeLogger(config)
  logWarnings(log)
  return compose(config, log)
}
