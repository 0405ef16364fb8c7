import type { IncomingMessage } from 'node:http'
import { finished, PassThrough, type Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import { isUnavailability, TidemarkError } from '../platform/errors.ts'
import { choice, named } from '../platform/validation.ts'
import { type CheckedLine, checkLine } from './check-line.ts'
import { type IncomingDocument, type IngestResult, outcomes, type Refusal, refusalCodes } from './content-store.ts'
import { checkDocument } from './document-input.ts'
import type { Ingest } from './ingest.ts'
import { ingestLines, type LineResult } from './ingest-lines.ts'
import type { IngestMeasures } from './ingest-measures.ts'
import { ingestLimits } from './limits.ts'
import { type Line, readLines } from './read-lines.ts'

/**
 * Reading pauses while this many bytes of results are unread. Results are small compared with documents, so a client
 * that reads only after it has sent everything rarely blocks itself.
 */
const unreadBytesMax = 8 * 1024 * 1024

/** Documents of a batch that are checked between two turns of the event loop: about a millisecond. */
const checkedAtOnce = 32

const ItemResult = named(
  'IngestResult',
  Type.Object({
    index: Type.Integer({ description: 'Position of the document in the request, from 0. Empty lines do not count.' }),
    document_id: Type.Optional(Type.String()),
    version_id: Type.Optional(Type.String({ description: 'The current version after this request.' })),
    outcome: Type.Optional(
      choice(outcomes, {
        description:
          '`created`: the document is new; `version_created`: title or body changed; `metrics_updated`: score or metrics changed; `updated`: any other field changed; `unchanged`: nothing was written; `erased`: an operator erased the document, so nothing is stored (and no ID returned) until the tombstone is lifted. If several apply, the first one is given.',
      }),
    ),
    error: Type.Optional(
      named(
        'IngestError',
        Type.Object({
          code: choice(refusalCodes),
          message: Type.String(),
          details: Type.Optional(
            Type.Array(named('ErrorDetail', Type.Object({ path: Type.String(), message: Type.String() }))),
          ),
        }),
      ),
    ),
  }),
)
export const IngestResults = named('IngestResponse', Type.Object({ results: Type.Array(ItemResult) }))

/**
 * The destination of one sender's documents: completes each one, refuses those that are not permitted, and writes the
 * others.
 */
export interface Intake extends Pick<Ingest, 'submit'> {
  readonly complete: (input: unknown) => unknown
  readonly permitted: (document: IncomingDocument) => Extract<IngestResult, { refusal: unknown }> | null
}

export async function answerBatch(
  inputs: readonly unknown[],
  intake: Intake,
  measures: IngestMeasures,
): Promise<Static<typeof IngestResults>['results']> {
  const checked: Exclude<CheckedLine, null>[] = []
  for (const input of inputs) {
    checked.push(refuseForbidden(checkDocument(intake.complete(input)), intake)!)
    if (checked.length % checkedAtOnce === 0) await setImmediate()
  }
  const documents: IncomingDocument[] = []
  for (const one of checked) if ('document' in one) documents.push(one.document)
  const stored = await intake.submit(documents)
  let used = 0
  return checked.map((one, index) => {
    const result = 'document' in one ? stored[used++]! : one
    measures.answered(result)
    return resultItem(index, result)
  })
}

function refuseForbidden(checked: CheckedLine, { permitted }: Intake): CheckedLine {
  return checked === null || 'refusal' in checked ? checked : (permitted(checked.document) ?? checked)
}

function resultItem(index: number, result: IngestResult): Static<typeof ItemResult> {
  if ('refusal' in result) {
    const { code, message, details } = result.refusal
    return { index, error: { code, message, ...(details === undefined ? {} : { details: [...details] }) } }
  }
  if (result.outcome === 'erased') return { index, outcome: result.outcome }
  return { index, document_id: result.documentId, version_id: result.versionId, outcome: result.outcome }
}

/**
 * Streams the result of each line while the request is still being read. If the first lines cannot be stored, rejects
 * with the cause, so that the whole request is refused. `written` resolves when everything that arrived has been
 * processed, even if the client is gone. `failed` is called once for each cause for which the store could not write
 * later lines.
 */
export async function answerLines(
  body: Readable,
  intake: Intake,
  failed: (cause: unknown) => void,
  measures: IngestMeasures,
): Promise<{ readonly answer: PassThrough; readonly written: Promise<void> }> {
  const causes = new Set<string>()
  let isRefused = false
  const notStored = (error: unknown, isFirst: boolean): Refusal => {
    isRefused ||= isFirst
    if (isRefused || isUnauthorized(error)) throw error
    const cause = error instanceof Error ? error.message : String(error)
    if (!causes.has(cause)) failed(error)
    causes.add(cause)
    return { code: 'not_stored', message: isUnavailability(error) ? error.message : defect }
  }
  const { lines, fault, stop } = linesOf(body)
  const portions = ingestLines(
    lines,
    (line) => refuseForbidden(checkLine(line, intake.complete), intake),
    intake,
    notStored,
  )
  let portion: IteratorResult<readonly LineResult[]>
  try {
    portion = await portions.next()
  } catch (error) {
    stop()
    throw error
  }
  const answer = new PassThrough({ highWaterMark: unreadBytesMax })
  const closed = new Promise<void>((resolve) => answer.once('close', resolve))
  const write = async (): Promise<void> => {
    const tally = new Tally()
    let hasTooManyRefusals = false
    let index = 0
    let revocation: Refusal | null = null
    const next = async (): Promise<typeof portion> => {
      try {
        return await portions.next()
      } catch (error) {
        if (!isUnauthorized(error)) throw error
        stop()
        revocation = { code: 'unauthorized', message: `${error.message}; nothing from this line on was stored` }
        return { done: true, value: undefined }
      }
    }
    answer.write('{"results":[')
    for (; portion.done !== true; portion = await next()) {
      let text = ''
      for (const { result } of portion.value) {
        tally.count(result)
        measures.answered(result)
        text += (index === 0 ? '' : ',') + JSON.stringify(resultItem(index, result))
        index++
      }
      if (tally.hasTooManyRefusals && !hasTooManyRefusals) {
        // Lines that were read ahead are being stored, and get their results.
        hasTooManyRefusals = true
        stop()
      }
      // A client that has disconnected gets no more results, but its lines are still written.
      if (answer.destroyed || answer.write(text)) continue
      await Promise.race([new Promise<void>((resolve) => answer.once('drain', resolve)), closed])
    }
    const refusal = revocation ?? endOf(hasTooManyRefusals ? tooManyRefusals : fault()?.message)
    if (refusal !== null) {
      measures.answered({ refusal })
      answer.write((index === 0 ? '' : ',') + JSON.stringify(resultItem(index, { refusal })))
    }
    answer.end(']}')
  }
  const broken = (error: Error): void => {
    // Without a client, the answer cannot report the error.
    if (answer.destroyed) failed(error)
    else answer.destroy(error)
  }
  return { answer, written: write().catch(broken) }
}

const isUnauthorized = (error: unknown): error is TidemarkError =>
  error instanceof TidemarkError && error.code === 'unauthorized'

const endOf = (why: string | undefined): Refusal | null =>
  why === undefined ? null : { code: 'stream_ended', message: `${why}; nothing from this line on was read` }

/**
 * Counts refused lines, so that a stream of bad lines can be ended. Compressed lines cost the sender a thousandth of
 * what refusing them costs the server, and a result can be a hundred times as long as its line.
 */
class Tally {
  #taken = 0
  #refused = 0

  /** Lines that could not be stored do not count as refused, because the sender is not at fault. */
  count(result: IngestResult): void {
    if (!('refusal' in result)) this.#taken++
    else if (result.refusal.code !== 'not_stored') this.#refused++
  }

  get hasTooManyRefusals(): boolean {
    return this.#refused > ingestLimits.refusedLinesMax && this.#refused > this.#taken
  }
}

const tooManyRefusals = `more than ${ingestLimits.refusedLinesMax} lines were refused, and more than were stored: correct the lines before you send them again`

const defect =
  'something went wrong on the server, not in your document: send it again later, or find it in the log by the request ID'

/** Checks a property, because importing the class from node:http would also load fetch and slow the start. */
const isRequest = (body: Readable): body is IncomingMessage => 'httpVersion' in body

/**
 * When a connection breaks, its stream drops the bytes that it still holds. So bytes are copied to another stream,
 * which is read to its end. A body that cannot be decoded ends in the same way, with a fault that is reported to the
 * sender.
 */
function linesOf(body: Readable): {
  readonly lines: AsyncGenerator<Line>
  readonly fault: () => TidemarkError | null
  /** Stops reading. */
  readonly stop: () => void
} {
  const copy = new PassThrough()
  let fault: TidemarkError | null = null
  let isStopped = false
  finished(body, (error) => {
    if (error instanceof TidemarkError) fault = error
    copy.end()
  })
  body.pipe(copy, { end: false })
  async function* lines(): AsyncGenerator<Line> {
    for await (const line of readLines(copy, ingestLimits.lineBytesMax)) {
      // A line that was cut off by us is not the sender's fault.
      if (isStopped || (fault !== null && !line.ended)) return
      yield line
    }
  }
  const stop = (): void => {
    isStopped = true
    body.unpipe(copy)
    copy.end()
    // An uncompressed request is the connection itself, which carries the answer, so the rest is discarded.
    if (isRequest(body)) body.resume()
    else body.destroy()
  }
  return { lines: lines(), fault: () => fault, stop }
}
