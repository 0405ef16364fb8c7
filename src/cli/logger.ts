import { type Logger, pino } from 'pino'
import type { Config } from '../config.ts'

/** JSON lines on standard error. Bodies, queries and credentials are never handed to it; the redaction is a second lock. */
export function makeLogger(config: Config): Logger {
  return pino(
    {
      level: config.logLevel,
      base: null,
      redact: { paths: ['*.authorization', 'headers', 'body', 'req'], remove: true },
    },
    pino.destination({ fd: 2, sync: false }),
  )
}
