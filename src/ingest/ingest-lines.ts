import { setImmediate } from 'node:timers/promises'
import type { CheckedLine } from './check-line.ts'
import type { IncomingDocument, IngestResult, Refusal } from './content-store.ts'
import type { Ingest } from './ingest.ts'
import type { Line } from './read-lines.ts'

/**
 * A portion is written when it has this size, or when the sender pauses for this long. It is half a transaction, so
 * that two waiting portions share one, and small enough that the garbage collector frees it in the young generation.
 */
const portionDocumentsMax = 250
const portionCharactersMax = 4_000_000
const pauseMs = 25

/** Portions read ahead during a write: bounds the memory, and keeps reader and writer both busy. */
const portionsAheadMax = 2

export interface LineResult {
  readonly line: Line
  readonly result: IngestResult
}

interface Portion {
  readonly results: Promise<readonly LineResult[]>
}

/**
 * Reads, checks and writes a stream of lines, in order and with bounded memory. Yields one result for each line that is
 * not empty, in order, after the line is on disk. A source that fails ends the stream: complete lines are written and
 * reported, then its error is thrown. `notStored` is called for a portion that the store failed to write, with whether an
 * earlier one was written, and returns the result of its lines. If it throws, the stream ends with that error.
 */
export async function* ingestLines(
  source: AsyncIterator<Line>,
  check: (line: Line) => CheckedLine,
  ingest: Pick<Ingest, 'submit'>,
  notStored: (error: unknown, isFirst: boolean) => Refusal,
): AsyncGenerator<readonly LineResult[]> {
  const ahead: Portion[] = []
  let checked: { line: Line; checked: NonNullable<CheckedLine> }[] = []
  let characters = 0
  let isFirst = true
  const send = (): void => {
    const portion = checked
    checked = []
    characters = 0
    if (portion.length === 0) return
    const wasFirst = isFirst
    isFirst = false
    const results = write(portion, ingest, (error) => notStored(error, wasFirst))
    // Awaited later, so a rejection before that must not count as unhandled.
    results.catch(() => {})
    ahead.push({ results })
  }

  let failure: { readonly error: unknown } | null = null
  const orEnd = async (awaited: Promise<IteratorResult<Line>>): Promise<Line | null> => {
    try {
      const { done, value } = await awaited
      return done === true ? null : value
    } catch (error) {
      failure = { error }
      return null
    }
  }
  let next = source.next()
  let read = 0
  for (;;) {
    // Buffered lines arrive without a pause, so other work must get the thread.
    if (++read % portionDocumentsMax === 0) await setImmediate()
    const line = await (checked.length > 0 ? beforePause(orEnd(next)) : orEnd(next))
    if (line === 'paused') {
      send()
      while (ahead.length > 0) yield await ahead.shift()!.results
      continue
    }
    if (line === null) break
    next = source.next()
    // Awaited later, so a rejection before that must not count as unhandled.
    next.catch(() => {})
    const one = check(line)
    if (one === null) continue
    checked.push({ line, checked: one })
    characters += line.text.length
    if (checked.length >= portionDocumentsMax || characters >= portionCharactersMax) send()
    while (ahead.length > portionsAheadMax) yield await ahead.shift()!.results
  }
  send()
  for (const { results } of ahead) yield await results
  if (failure !== null) throw (failure as { readonly error: unknown }).error
}

async function beforePause(next: Promise<Line | null>): Promise<Line | null | 'paused'> {
  let timer: NodeJS.Timeout | undefined
  const pause = new Promise<'paused'>((resolve) => {
    timer = setTimeout(resolve, pauseMs, 'paused')
  })
  const first = await Promise.race([next, pause])
  clearTimeout(timer)
  return first
}

async function write(
  portion: readonly { line: Line; checked: NonNullable<CheckedLine> }[],
  ingest: Pick<Ingest, 'submit'>,
  notStored: (error: unknown) => Refusal,
): Promise<readonly LineResult[]> {
  const documents: IncomingDocument[] = []
  for (const { checked } of portion) if ('document' in checked) documents.push(checked.document)
  let stored: readonly IngestResult[]
  try {
    stored = await ingest.submit(documents)
  } catch (error) {
    const refusal = notStored(error)
    stored = documents.map(() => ({ refusal }))
  }
  let used = 0
  return portion.map(({ line, checked }) => ({ line, result: 'document' in checked ? stored[used++]! : checked }))
}
