import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import type { Config } from '../config.ts'

/** Lines are written together, so many characters at a time or what there is after this long. */
const writeAfterMs = 100
const writeFromCharacters = 16_000

/** What waits to be written beyond this is lost: a disk that is full, or a reader that is slow, must not fill the memory. */
const waitingBytesMax = 4_000_000

/** So long a reader that is slow has for the last lines, when the process is to end. */
const lastLinesMs = 2000

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

/** Resolves when all is written that was said, or when its reader takes no more. What is still being written at the end is torn. */
export async function allWritten(log: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, lastLinesMs)
  })
  await Promise.race([new Promise<void>((resolve) => log.flush(() => resolve())), late])
  clearTimeout(timer)
}

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
  let isFailing = false
  stream.on('error', () => {
    isFailing = true
    isWriting = false
  })
  stream.on('drain', () => {
    isWriting = false
  })
  stream.on('write', () => {
    isFailing = false
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
      if (isWriting) for (const end of ['drain', 'error']) stream.once(end, whenWritten)
      else whenWritten()
    },
    /** Called at the end of the process, when nothing can be written beside it any more. */
    flushSync(): void {
      // The stream would try again for ever.
      if (isFailing) return
      flushSync.call(stream)
      pino.destination({ fd: 2, sync: true }).write(held)
      held = ''
    },
  })
}
