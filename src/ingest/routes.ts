import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, type TSchema, Type } from 'typebox'
import type { Collector } from '../access/principal.ts'
import { principalOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { TidemarkError } from '../platform/errors.ts'
import { describedBy, named, strict } from '../platform/validation.ts'
import { answerBatch, answerLines, IngestResults, type Intake } from './answer-documents.ts'
import { DocumentInput } from './document-input.ts'
import type { Ingest } from './ingest.ts'
import type { IngestMeasures } from './ingest-measures.ts'
import { ingestLimits } from './limits.ts'

const ndjson = 'application/x-ndjson'

/**
 * The body in which documents are sent to any route: a JSON batch or lines. Each document is checked alone, against
 * `document`.
 */
export function documentsBody(request: string, document: TSchema) {
  const described = Type.Unknown({ [describedBy]: document })
  const documents = Type.Array(described, { minItems: 1, maxItems: ingestLimits.batchMax })
  return {
    consumes: ['application/json', ndjson],
    body: {
      content: {
        'application/json': { schema: named(request, Type.Object({ documents }, strict)) },
        [ndjson]: { schema: described },
        'application/ndjson': { schema: described },
      },
    },
    response: { 200: IngestResults },
  }
}

export function ingestRoutes(app: TypedApp, ingest: Ingest, measures: IngestMeasures): void {
  app.post(
    '/collector/v1/documents',
    {
      config: { operation: 'collector.documents', invalid: 'invalid_request', lines: true },
      bodyLimit: ingestLimits.batchBytesMax,
      schema: {
        tags: ['Collector'],
        summary: 'Send documents',
        description:
          `JSON \`{"documents": [1..${ingestLimits.batchMax}]}\`, or NDJSON (\`${ndjson}\`): one document per line, any number of lines, streamed in both directions. ` +
          'Each document has its own result, in order; a bad document fails alone. A result without `error` means that the document is on disk. Sending the same document again writes nothing. ' +
          `An NDJSON stream ends early when more than ${ingestLimits.refusedLinesMax} lines were refused and more than were accepted, or when the body cannot be decoded: ` +
          'the last result is then the error `stream_ended`, with the index of the first line that was not read, or `unauthorized` if the key was revoked or expired meanwhile. What was accepted is kept. ' +
          'If not even the first lines can be stored (for example, the disk is full), the answer is 503; if later lines cannot, they have the error `not_stored`.',
        ...documentsBody('IngestRequest', DocumentInput),
      },
    },
    (request, reply) => {
      const intake = intakeOf(principalOf(request, 'collector'), ingest)
      return answerDocuments(request, reply, { batch: intake, lines: intake }, measures)
    },
  )
}

export async function answerDocuments(
  request: FastifyRequest,
  reply: FastifyReply,
  intakes: { readonly batch: Intake; readonly lines: Intake },
  measures: IngestMeasures,
): Promise<Static<typeof IngestResults>> {
  const { body } = request
  if (body instanceof Readable) {
    const failed = (cause: unknown): void => request.degraded('not_stored', cause)
    const { answer, written } = await answerLines(body, whileAuthorized(request, intakes.lines), failed, measures)
    reply.type('application/json; charset=utf-8').send(answer)
    // If a handler ends before its answer has started, the framework sends an answer of its own.
    reply.raw.flushHeaders()
    await written
    // The answer has been sent already.
    return undefined as never
  }
  if (body == null) {
    throw new TidemarkError('invalid_request', `the body is missing: send {"documents": […]} or NDJSON`)
  }
  const { documents } = body as { documents: unknown[] }
  return { results: await answerBatch(documents, whileAuthorized(request, intakes.batch), measures) }
}

/**
 * A body may arrive for hours, and its key may be revoked in that time, so the key is checked again for each portion.
 * The checks run one after the other, so portions stay in order.
 */
function whileAuthorized(request: FastifyRequest, intake: Intake): Intake {
  let last: Promise<unknown> = Promise.resolve()
  return {
    ...intake,
    submit(documents) {
      const allowed = last.then(() => request.recheckCredential())
      // The failure is reported with its own portion.
      last = allowed.catch(() => {})
      return allowed.then(() => intake.submit(documents))
    },
  }
}

/** A collector that is restricted to datasets may write only to these. */
function intakeOf({ datasets }: Collector, ingest: Ingest): Intake {
  return {
    complete: (input) => input,
    permitted: ({ datasetId }) =>
      datasets === null || datasets.includes(datasetId)
        ? null
        : {
            refusal: {
              code: 'dataset_forbidden',
              message: `this collector is not allowed to write to dataset ${JSON.stringify(datasetId)}`,
              details: [{ path: 'dataset_id', message: `must be one of ${datasets.join(', ')}` }],
            },
          },
    submit: (documents) => ingest.submit(documents),
  }
}
