import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyContextConfig, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import { credentialKinds } from '../access/credential-kinds.ts'
import { errorTable } from '../errors.ts'
import { choice } from '../validation.ts'
import { version } from '../version.ts'
import type { RouteConfig } from './route.ts'

/** Named in the description as the shape of every error. */
export const ErrorSchema = Type.Object(
  {
    code: choice(Object.keys(errorTable), { description: 'Stable; decide on this.' }),
    message: Type.String({ description: 'What to change, for people.' }),
    request_id: Type.String({ description: 'The same as in X-Request-Id; finds the request in the log.' }),
    details: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), { description: 'The fields at fault.' }),
    ),
  },
  { $id: 'Error', description: 'The body of every error on every surface.' },
)

const kinds = Object.entries(credentialKinds)

const surfaces = kinds
  .map(([, { paths, name, prefix }]) => `${paths.map((path) => `\`${path}\``).join(' and ')}: ${name} (\`${prefix}…\`)`)
  .join('; ')

const about = `
A self-hosted content data service. Collectors send documents in; applications read them through this API, within what
they are entitled to.

**Surfaces.** ${surfaces}. Each credential works on its own surface only. All are sent as \`Authorization: Bearer …\`.

**Errors** are always \`{code, message, request_id, details?}\`. Unknown fields and unknown or repeated query parameters
are errors. Every 429 carries \`Retry-After\` in seconds; consumer answers carry \`RateLimit-Policy\` and \`RateLimit\`.

**Bodies** may be compressed (\`Content-Encoding\`: gzip, deflate, br or zstd). One that does not arrive in time is 408.

**Times** are RFC 3339; intervals include their start and exclude their end. **Ids** are opaque and sort by the time
they were made.
`.trim()

const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)

export const openApiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: { title: 'Tidemark', version, description: about, license: { name: 'MIT' } },
    tags: [
      { name: 'Account', description: 'Who am I, and what may I do?' },
      { name: 'Search', description: 'Keyword, vector and hybrid search.' },
      { name: 'Live', description: 'On-demand collection of the newest content.' },
      { name: 'Catalog', description: 'Documents by exact conditions, users and classifications.' },
      { name: 'Documents', description: 'One document: content, versions and metric snapshots.' },
      { name: 'Changes', description: 'The pull-only change feed.' },
      {
        name: 'Analysis',
        description: 'Preview. Runs over a slice of the content with files as results, and subscriptions to them.',
      },
      { name: 'Collector', description: 'Putting content in, and collecting on demand.' },
      { name: 'Admin', description: 'Datasets, applications, keys and everything else an operator sets.' },
      { name: 'Service', description: 'Description, probes and metrics.' },
    ],
    components: {
      securitySchemes: Object.fromEntries(
        kinds.map(([kind, { name, prefix }]) => [
          kind,
          {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: `${prefix}…`,
            description: `${sentence(name)}, ${prefix}…`,
          },
        ]),
      ),
    },
  },
  refResolver: { buildLocalReference: (json, _base, _fragment, i) => (json.$id as string | undefined) ?? `def-${i}` },
  transformObject: (document) =>
    'openapiObject' in document
      ? (withDescribedParts(document.openapiObject) as typeof document.openapiObject)
      : document.swaggerObject,
  transform: ({ schema, url, route }) => {
    const { credential = null, operation, invalid } = route.config as FastifyContextConfig & RouteConfig
    if (route.method === 'HEAD') return { schema: { ...schema, hide: true }, url }
    const error = { $ref: 'Error#' }
    const responses: Record<string, unknown> = { ...((schema?.response as Record<string, unknown>) ?? {}) }
    if (credential !== null) {
      for (const status of credentialKinds[credential].statuses) {
        responses[status] ??= { description: reasons[status], ...error }
      }
      responses[errorTable[invalid].status] ??= {
        description: `\`${invalid}\`: the message names the field.`,
        ...error,
      }
    }
    const described = {
      ...schema,
      operationId: operation,
      security: credential === null ? [] : [{ [credential]: [] }],
      response: responses,
    }
    return { schema: described as FastifySchema, url }
  },
}

const reasons: Record<number, string> = {
  401: '`unauthorized`: no valid credential for this surface.',
  403: '`entitlement_denied`: outside the entitlements of the application.',
  413: '`payload_too_large`: send less at once.',
  415: '`unsupported_media_type`: send JSON, or NDJSON where it is taken.',
  429: '`rate_limit_exceeded` or `quota_exceeded`: wait for the seconds in Retry-After.',
  503: 'Temporarily unavailable (`overloaded`, `storage_full` for writes, or the area’s own code): try again after the seconds in Retry-After, with growing pauses.',
}

/**
 * Where the schema that validates a request says nothing of a part, because that is checked afterwards and alone,
 * `x-described-by` says it: a schema, or the name of a component.
 */
function withDescribedParts(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withDescribedParts)
  if (typeof part !== 'object' || part === null) return part
  const described = (part as Record<string, unknown>)['x-described-by']
  if (typeof described === 'string') return { $ref: `#/components/schemas/${described}` }
  if (described !== undefined) return withDescribedParts(described)
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, withDescribedParts(value)]))
}
