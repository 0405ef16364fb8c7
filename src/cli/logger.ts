import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import type { Config } from '../settings/config.ts'

/** Lines are written in batches: after this many characters or this time. */
const writeAfterMs = 100
const writeFromCharacters = 16_000

/** Lines beyond this many waiting bytes are dropped: a full disk or a slow reader must not exhaust memory. */
const waitingBytesMax = 4_000_000

/** How long an exit waits for a reader that accepts nothing. */
const silentReaderMs = 2000

const nothing = (): undefined => undefined

/** Logs type, message, stack and code of an error. Other fields can hold a row of the database. */
function loggedError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const { type, message, stack, code } = stdSerializers.err(error) as ReturnType<typeof stdSerializers.err> & {
    readonly code?: string
  }
  return { type, message, stack, ...(code === undefined ? {} : { code }) }
}

/**
 * Writes JSON lines to standard error. Bodies, queries and credentials are never logged; blanking these field names is
 * a second safeguard (pino's redaction by path does the same at ten times the CPU). Buffered lines are written when the
 * process ends, unless it is killed.
 */
export function makeLogger(config: Config): Logger {
  return pino(
    {
      level: config.logLevel,
      base: null,
      serializers: { err: loggedError, req: nothing, headers: nothing, body: nothing, authorization: nothing },
    },
    standardError(),
  )
}

/**
 * Resolves when all lines are written, however slowly they are read, or when the reader accepts no more. Then the rest
 * is dropped: writing it beside a pending write would mix lines, and a stopped reader must not keep the process alive.
 */
export const allWritten = (log: Logger): Promise<void> => new Promise((resolve) => log.flush(() => resolve()))

/** Logs Node's warnings as JSON lines too. */
export function logWarnings(log: Logger): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ err: warning }, 'Node warns'))
}

/**
 * Buffers lines in a string of its own. The buffer of the stream would be measured again for every line, and the flush
 * interval of the stream would wake an idle process ten times a second. Lines that arrive during a write are written
 * right after it.
 *
 * If a write fails, for example on a full disk, the process goes on and tries again with the next lines.
 */
function standardError(): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: false, minLength: 0, maxLength: waitingBytesMax })
  const { write, flushSync } = stream
  let buffer = ''
  let isDue = false
  let isWriting = false
  /** True when the remaining lines are dropped at exit. */
  let isGivenUp = false
  stream.on('error', () => {
    isGivenUp = true
    isWriting = false
  })
  stream.on('drain', () => {
    isWriting = false
  })
  stream.on('write', () => {
    isGivenUp = false
  })
  const writeBuffer = (): void => {
    const text = buffer
    buffer = ''
    if (text === '') return
    isWriting = true
    write.call(stream, text)
  }
  const writeBufferWhenDue = (): void => {
    isDue = false
    writeBuffer()
  }
  return Object.assign(stream, {
    write(line: string): boolean {
      buffer += line
      if (buffer.length >= writeFromCharacters) writeBuffer()
      else if (!isDue) {
        isDue = true
        setTimeout(writeBufferWhenDue, writeAfterMs).unref()
      }
      return true
    },
    flush(whenWritten: () => void): void {
      writeBuffer()
      if (!isWriting) {
        whenWritten()
        return
      }
      const end = (): void => {
        clearTimeout(silenceTimer)
        stream.off('write', restartTimer)
        whenWritten()
      }
      const silenceTimer = setTimeout(() => {
        isGivenUp = true
        end()
      }, silentReaderMs)
      const restartTimer = (): unknown => silenceTimer.refresh()
      stream.on('write', restartTimer)
      stream.once('drain', end)
      stream.once('error', end)
    },
    /** Called at exit, when no other write can run. */
    flushSync(): void {
      // After an error, the stream would retry forever.
      if (isGivenUp) return
      flushSync.call(stream)
      pino.destination({ fd: 2, sync: true }).write(buffer)
      buffer = ''
    },
  })
}
