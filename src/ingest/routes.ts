import { finished, PassThrough, type Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Collector } from '../access/principal.ts'
import { collectorOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed.ts'
import { type CheckedLine, checkLine } from './check-lines.ts'
import { type IncomingDocument, type IngestResult, outcomes } from './content-store.ts'
import { checkDocument, DocumentInput } from './document-input.ts'
import type { Ingest } from './ingest.ts'
import { ingestLines } from './ingest-lines.ts'
import { ingestLimits } from './limits.ts'
import { readLines } from './read-lines.ts'

const ndjson = 'application/x-ndjson'

/**
 * Results are small beside documents. This much may wait unread before the sender is held back, so that a client that
 * reads only after it has sent everything does not block itself at once.
 */
const unreadBytesMax = 8 * 1024 * 1024

const ItemResult = Type.Object({
  index: Type.Integer({ description: 'Position of the document in the request, from 0; empty lines do not count.' }),
  document_id: Type.Optional(Type.String()),
  version_id: Type.Optional(Type.String({ description: 'The current version after this request.' })),
  outcome: Type.Optional(Type.Enum(outcomes)),
  error: Type.Optional(
    Type.Object({
      code: Type.Enum(['invalid_document', 'unknown_dataset', 'dataset_forbidden', 'not_stored']),
      message: Type.String(),
      details: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
    }),
  ),
})
const Results = Type.Object({ results: Type.Array(ItemResult) })

export function ingestRoutes(app: TypedApp, ingest: Ingest): void {
  app.addSchema(DocumentInput)
  app.addContentTypeParser([ndjson, 'application/ndjson'], (_request, payload, done) => done(null, payload))

  const documents = Type.Array(Type.Unknown({ 'x-described-by': 'Document' }), {
    minItems: 1,
    maxItems: ingestLimits.batchMax,
  })
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
        consumes: ['application/json', ndjson],
        body: {
          content: {
            'application/json': { schema: Type.Object({ documents }, { additionalProperties: false }) },
            [ndjson]: { schema: Type.Unknown({ 'x-described-by': 'Document' }) },
            'application/ndjson': { schema: Type.Unknown({ 'x-described-by': 'Document' }) },
          },
        },
        response: { 200: Results },
      },
    },
    async (request, reply) => {
      const collector = collectorOf(request)
      if (isNdjson(request)) {
        const stream = streamResults(request.body as Readable, collector, ingest)
        return reply.type('application/json; charset=utf-8').send(stream as never)
      }
      const inputs = (request.body as { documents: unknown[] }).documents
      return { results: await ingestBatch(inputs, collector, ingest) }
    },
  )
}

function isNdjson(request: FastifyRequest): boolean {
  return /^application\/(x-)?ndjson\b/i.test(request.headers['content-type'] ?? '')
}

async function ingestBatch(
  inputs: readonly unknown[],
  collector: Collector,
  ingest: Ingest,
): Promise<Static<typeof ItemResult>[]> {
  const checked = inputs.map((input) => permitted(checkDocument(input), collector)!)
  const documents: IncomingDocument[] = []
  for (const one of checked) if ('document' in one) documents.push(one.document)
  const stored = await ingest.submit(documents)
  let used = 0
  return checked.map((one, index) => resultItem(index, 'document' in one ? stored[used++]! : one))
}

/** A collector that is bound to datasets writes to no other. */
function permitted(checked: CheckedLine, collector: Collector): CheckedLine {
  if (checked === null || 'refusal' in checked || collector.datasets === null) return checked
  const { datasetId } = checked.document
  if (collector.datasets.includes(datasetId)) return checked
  return {
    refusal: {
      code: 'dataset_forbidden',
      message: `this collector may not write to dataset ${JSON.stringify(datasetId)}`,
      details: [{ path: 'dataset_id', message: `must be one of ${collector.datasets.join(', ')}` }],
    },
  }
}

function resultItem(index: number, result: IngestResult): Static<typeof ItemResult> {
  if ('refusal' in result) {
    const { code, message, details } = result.refusal
    return { index, error: { code, message, ...(details === undefined ? {} : { details: [...details] }) } }
  }
  return { index, document_id: result.documentId, version_id: result.versionId, outcome: result.outcome }
}

/** The answer grows while the request is read. */
function streamResults(body: Readable, collector: Collector, ingest: Ingest): PassThrough {
  const answer = new PassThrough({ highWaterMark: unreadBytesMax })
  const closed = new Promise<void>((resolve) => answer.once('close', resolve))
  const write = async (): Promise<void> => {
    const lines = readLines(untilBreak(body), ingestLimits.lineBytesMax)
    let index = 0
    answer.write('{"results":[')
    for await (const portion of ingestLines(lines, (line) => permitted(checkLine(line), collector), ingest)) {
      let text = ''
      for (const { result } of portion) {
        text += (index === 0 ? '' : ',') + JSON.stringify(resultItem(index, result))
        index++
      }
      // A client that has gone away is answered no more, but what it sent is still written.
      if (answer.destroyed || answer.write(text)) continue
      await Promise.race([new Promise<void>((resolve) => answer.once('drain', resolve)), closed])
    }
    answer.end(']}')
  }
  write().catch((error) => answer.destroy(error))
  return answer
}

/** A connection that breaks off takes along what its own stream still holds; what has been handed on is kept and read. */
function untilBreak(body: Readable): Readable {
  const kept = new PassThrough()
  finished(body, () => kept.end())
  return body.pipe(kept, { end: false })
}
