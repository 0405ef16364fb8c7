import { type Logger, pino } from 'pino'
import type { Config } from '../config.ts'

/** Lines are written together, so many characters at a time or what there is after this long. */
const writeEveryMs = 100
const writeFromCharacters = 16_000

const nothing = (): undefined => undefined

/**
 * JSON lines on standard error. Bodies, queries and credentials are never handed to it; that these names come out empty
 * is a second lock (pino's redaction by path does the same for ten times the CPU). What is still held back is written
 * at the end of the process, unless it is killed.
 */
export function makeLogger(config: Config): Logger {
  return pino(
    {
      level: config.logLevel,
      base: null,
      serializers: { req: nothing, headers: nothing, body: nothing, authorization: nothing },
    },
    pino.destination({ fd: 2, sync: false, minLength: writeFromCharacters, periodicFlush: writeEveryMs }),
  )
}
