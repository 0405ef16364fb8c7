import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import type { Config } from '../config.ts'

/** Lines are written together, so many characters at a time or what there is after this long. */
const writeAfterMs = 100
const writeFromCharacters = 16_000

/** What waits to be written beyond this is lost: a disk that is full, or a reader that is slow, must not fill the memory. */
const waitingBytesMax = 4_000_000

/** When the process is to end, a reader that takes nothing for so long is not waited for. */
const silentReaderMs = 2000

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

/**
 * Resolves when all is written that was said, however slowly that is read, or when its reader takes no more. Then the rest is
 * lost: to write it beside what is still under way would mix the lines, and who stopped reading must not keep the process.
 */
export const allWritten = (log: Logger): Promise<void> => new Promise((resolve) => log.flush(() => resolve()))

/** What Node warns of is a line like any other: who reads the log reads JSON. */
export function logWarnings(log: Logger): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ err: warning }, 'Node warns'))
}

/**
 * Lines are held here, in one text that is only added to. The stream would count the bytes of all that it holds with every
 * line, for which the text is put together anew: a tenth of what a small request costs. Its own way to write now and then would wake
 * the process ten times a second though nothing was said. What comes while it is writing it writes right after.
 *
 * Where nothing can be written, as on a full disk, the process goes on, and tries again with the next lines.
 */
function standardError(): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: false, minLength: 0, maxLength: waitingBytesMax })
  const { write, flushSync } = stream
  let held = ''
  let isDue = false
  let isWriting = false
  /** What is still here when the process ends is left. */
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
  const handOver = (): void => {
    const text = held
    held = ''
    if (text === '') return
    isWriting = true
    write.call(stream, text)
  }
  const handOverDue = (): void => {
    isDue = false
    handOver()
  }
  return Object.assign(stream, {
    write(line: string): boolean {
      held += line
      if (held.length >= writeFromCharacters) handOver()
      else if (!isDue) {
        isDue = true
        setTimeout(handOverDue, writeAfterMs).unref()
      }
      return true
    },
    flush(whenWritten: () => void): void {
      handOver()
      if (!isWriting) {
        whenWritten()
        return
      }
      const end = (): void => {
        clearTimeout(silent)
        stream.off('write', goOn)
        whenWritten()
      }
      const silent = setTimeout(() => {
        isGivenUp = true
        end()
      }, silentReaderMs)
      const goOn = (): unknown => silent.refresh()
      stream.on('write', goOn)
      stream.once('drain', end)
      stream.once('error', end)
    },
    /** Called at the end of the process, when nothing can be written beside it any more. */
    flushSync(): void {
      // The stream would try again for ever.
      if (isGivenUp) return
      flushSync.call(stream)
      pino.destination({ fd: 2, sync: true }).write(held)
      held = ''
    },
  })
}
