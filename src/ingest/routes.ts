import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Collector } from '../access/principal.ts'
import { collectorOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed.ts'
import { answerBatch, answerLines, IngestResults, type Intake } from './answer-documents.ts'
import { DocumentInput } from './document-input.ts'
import type { Ingest } from './ingest.ts'
import { ingestLimits } from './limits.ts'

const ndjson = 'application/x-ndjson'

/** How documents are sent, wherever they are: a JSON batch or lines. */
export function documentsBody() {
  const documents = Type.Array(Type.Unknown({ 'x-described-by': 'Document' }), {
    minItems: 1,
    maxItems: ingestLimits.batchMax,
  })
  return {
    consumes: ['application/json', ndjson],
    body: {
      content: {
        'application/json': { schema: Type.Object({ documents }, { additionalProperties: false }) },
        [ndjson]: { schema: Type.Unknown({ 'x-described-by': 'Document' }) },
        'application/ndjson': { schema: Type.Unknown({ 'x-described-by': 'Document' }) },
      },
    },
    response: { 200: IngestResults },
  }
}

export function ingestRoutes(app: TypedApp, ingest: Ingest): void {
  app.addSchema(DocumentInput)
  app.addContentTypeParser([ndjson, 'application/ndjson'], (_request, payload, done) => done(null, payload))
  app.post(
    '/collector/v1/documents',
    {
      config: { surface: 'collector', operation: 'collector.documents', invalid: 'invalid_request' },
      bodyLimit: ingestLimits.batchBytesMax,
      schema: {
        tags: ['Collector'],
        summary: 'Put documents in',
        description:
          `JSON \`{"documents": [1..${ingestLimits.batchMax}]}\`, or NDJSON (\`${ndjson}\`): one document a line, any length, streamed both ways. ` +
          'Each document is answered in order; a bad one fails alone. What is answered without `error` is on disk. Sending the same document again writes nothing.',
        ...documentsBody(),
      },
    },
    async (request, reply) => {
      const intake = intakeOf(collectorOf(request), ingest)
      if (isNdjson(request)) {
        const failed = (cause: unknown): void => request.degraded('not_stored', cause)
        const stream = answerLines(request.body as Readable, intake, failed)
        return reply.type('application/json; charset=utf-8').send(stream as never)
      }
      return { results: await answerBatch((request.body as { documents: unknown[] }).documents, intake) }
    },
  )
}

export function isNdjson(request: FastifyRequest): boolean {
  return /^application\/(x-)?ndjson\b/i.test(request.headers['content-type'] ?? '')
}

/** A collector that is bound to datasets writes to no other. */
function intakeOf({ datasets }: Collector, ingest: Ingest): Intake {
  return {
    complete: (input) => input,
    permitted: ({ datasetId }) =>
      datasets === null || datasets.includes(datasetId)
        ? null
        : {
            refusal: {
              code: 'dataset_forbidden',
              message: `this collector may not write to dataset ${JSON.stringify(datasetId)}`,
              details: [{ path: 'dataset_id', message: `must be one of ${datasets.join(', ')}` }],
            },
          },
    submit: (documents) => ingest.submit(documents),
  }
}
