import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import type { Config } from '../config.ts'

/** Lines are written together, so many characters at a time or what there is after this long. */
const writeAfterMs = 100
const writeFromCharacters = 16_000

const nothing = (): undefined => undefined

/** What an error says, where it was thrown and of what. Other fields of it can hold a row of the database. */
function saidOf(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const { type, message, stack, code } = stdSerializers.err(error) as ReturnType<typeof stdSerializers.err> & {
    readonly code?: string
  }
  return { type, message, stack, ...(code === undefined ? {} : { code }) }
}

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
      serializers: { err: saidOf, req: nothing, headers: nothing, body: nothing, authorization: nothing },
    },
    standardError(),
  )
}

/** What Node warns of is a line like any other: who reads the log reads JSON. */
export function logWarnings(log: Logger): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ err: warning }, 'Node warns'))
}

/**
 * Its own way to write now and then would wake the process ten times a second though nothing was said. What is said while
 * something is being written is not in it, and a flush beside it does nothing: so what is left is looked at after every write.
 */
function standardError(): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: false, minLength: writeFromCharacters })
  const { write } = stream
  let unwrittenBytes = 0
  let isFlushDue = false
  const flush = (): void => {
    isFlushDue = false
    stream.flush(() => {})
  }
  const flushLater = (): void => {
    if (isFlushDue || unwrittenBytes <= 0) return
    isFlushDue = true
    setTimeout(flush, writeAfterMs).unref()
  }
  stream.on('write', (bytes: number) => {
    unwrittenBytes -= bytes
    flushLater()
  })
  return Object.assign(stream, {
    write(line: string): boolean {
      unwrittenBytes += Buffer.byteLength(line)
      flushLater()
      return write.call(stream, line)
    },
  })
}
