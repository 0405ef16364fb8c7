import { compose, type Instance } from '../compose.ts'
import type { Config } from '../config.ts'
import { makeLogger } from './logger.ts'

/** Loaded when a server is started, and not to say which commands and settings there are. */
export const openInstance = (config: Config): Promise<Instance> => compose(config, makeLogger(config))
