import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyContextConfig, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import { credentialKinds } from '../access/credential-kinds.ts'
import { quotaOperations } from '../access/operations.ts'
import type { Role } from '../access/roles.ts'
import { type ErrorCode, errorTable } from '../platform/errors.ts'
import { timeLengthMax } from '../platform/time.ts'
import { choice, named } from '../platform/validation.ts'
import { version } from '../platform/version.ts'
import { IfMatchHeaders } from './conditional-requests.ts'
import { type Description, finishDescription } from './finish-description.ts'
import { IdempotencyHeaders } from './make-once.ts'
import type { RouteConfig } from './route.ts'

/** Named in the description as the body of every error. */
export const ErrorSchema = Type.Object(
  {
    code: choice(Object.keys(errorTable), { description: 'Stable: branch on this.' }),
    message: Type.String({ description: 'What to change. For people; the wording may change.' }),
    request_id: Type.String({ description: 'The same as `X-Request-Id`. It finds the request in the log.' }),
    details: Type.Optional(
      Type.Array(named('ErrorDetail', Type.Object({ path: Type.String(), message: Type.String() })), {
        description: 'The fields at fault.',
      }),
    ),
  },
  { $id: 'Error', description: 'The body of every error on every surface.' },
)

/** Every error code by status, with the remedy, for the reference. */
const errors = Object.entries(errorTable)
  .map(([code, row]) => ({ code, ...row }))
  .sort((a, b) => a.status - b.status)

const kinds = Object.entries(credentialKinds)

const surfaces = kinds
  .map(([, { paths, name, prefix }]) => `${paths.map((path) => `\`${path}\``).join(' and ')}: ${name} (\`${prefix}…\`)`)
  .join('; ')

const about = `
A self-hosted content data service. Collectors send documents; applications read them through this API, within their
entitlements.

**Surfaces.** ${surfaces}. Each credential works only on its own surface. Send it as \`Authorization: Bearer …\`.
The base interface calls an application key a consumer API key.

**Errors** always have the form \`{code, message, request_id, details?}\`. Unknown fields and unknown or repeated query
parameters are errors; in the lists of an application's request a repeated value counts once. Every 429 has \`Retry-After\` in seconds;
responses to applications have \`RateLimit-Policy\` and \`RateLimit\`.

**Null.** In requests to \`/v1\`, null for an optional field of the body is the same as leaving it out, also within objects. So
fields of an answer can be sent back in a request that has them. The schemas do not repeat this. A required field cannot be null.

**Retrying a POST.** Every POST that creates something accepts an \`Idempotency-Key\`, so you can send it again if no response
arrived. For 24 hours the same key with the same request returns what was created, in its current state; with a different request it
is 422 \`idempotency_key_reused\`. A secret is not shown again: that is 409 \`conflict\`, with the ID of what was created. A
request that failed does not use up its key. Every 201 and 202 has a \`Location\` where the result can be read.

**Concurrent edits.** Resources that operators replace as a whole have an \`ETag\`. Send it back as \`If-Match\` with your change: if
somebody else has changed the resource since you read it, nothing is changed and the answer is 412 \`precondition_failed\`.

**Additions.** Everything marked “Addition” goes beyond the base interface. A request that uses no such parameter does what the
base interface says. Responses may have additional fields that you did not request, such as \`url\` and \`author\` of a search result:
ignore those that you do not know.

**Bodies** may be compressed (\`Content-Encoding\`: gzip, deflate, br or zstd). A body that does not arrive in time is 408. JSON
responses above 1 KB are compressed as \`Accept-Encoding\` allows: zstd, br or gzip.

**Times** are RFC 3339, of the years 0001 to 9999 in UTC, with any number of digits after the second, up to ${timeLengthMax} characters in all.
Intervals include their start and exclude their end, to the last digit. Documents have milliseconds: finer digits of their times
are cut off.

**IDs** are opaque and sort by creation time.
`.trim()

const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)

export const openApiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    ...{ 'x-errors': errors },
    info: { title: 'Tidemark', version, description: about, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/', description: 'This instance.' }],
    tags: [
      { name: 'Account', description: 'What the calling application is and may do.' },
      { name: 'Search', description: 'Keyword, vector and hybrid search.' },
      { name: 'Live', description: 'On-demand collection of the newest content.' },
      { name: 'Catalog', description: 'Documents by exact conditions, users and classifications.' },
      { name: 'Documents', description: 'One document: content, versions and metric snapshots.' },
      { name: 'Changes', description: 'The pull-only change feed.' },
      {
        name: 'Export',
        description:
          'Everything the application may read, as the start of a copy that the change feed keeps up to date.',
      },
      {
        name: 'Analysis',
        description:
          'Preview. Runs over a slice of the content, with files as results, and subscriptions that start them.',
      },
      { name: 'Agents', description: 'The same through the Model Context Protocol.' },
      { name: 'Collector', description: 'Sending content, and collecting on demand.' },
      { name: 'Admin', description: 'Datasets, applications, keys and everything else operators manage.' },
      { name: 'Service', description: 'API description, probes and metrics.' },
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
      ? (finishDescription(document.openapiObject as Description) as typeof document.openapiObject)
      : document.swaggerObject,
  transform: ({ schema, url, route }) => {
    const config = route.config as FastifyContextConfig & RouteConfig
    if (route.method === 'HEAD') return { schema: { ...schema, hide: true }, url }
    const { credential = null, operation, role } = config
    const described = {
      ...schema,
      operationId: operation,
      ...(role === undefined ? {} : describedRole(role, schema?.description)),
      security: credential === null ? [] : [{ [credential]: [] }],
      response: {
        ...errorAnswers(config, {
          takesBody: schema?.body !== undefined,
          isOnce: schema?.headers === IdempotencyHeaders,
          isConditional: schema?.headers === IfMatchHeaders,
        }),
        ...(schema?.response as object | undefined),
      },
    }
    return { schema: described as FastifySchema, url }
  },
}

/** The role that an operation needs, for people and for programs. */
const describedRole = (role: Role, description: string | undefined) => ({
  description: `${description === undefined ? '' : `${description} `}Needs the role \`${role}\`.`,
  'x-role': role,
})

/** Every error that a route can answer with, by status. */
function errorAnswers(
  config: FastifyContextConfig & RouteConfig,
  { takesBody, isOnce, isConditional }: Readonly<Record<'takesBody' | 'isOnce' | 'isConditional', boolean>>,
): Record<number, object> {
  const { credential = null, operation, invalid, unavailable = 'store_unavailable', errors = [] } = config
  if (credential === null) return {}
  const codes: ErrorCode[] = [
    ...credentialKinds[credential].errors,
    'headers_too_large',
    invalid,
    ...errors,
    unavailable,
  ]
  if (operation in quotaOperations) codes.push('quota_exceeded')
  if (isOnce) codes.push('idempotency_key_reused', 'conflict')
  if (isConditional) codes.push('precondition_failed')
  if (takesBody) codes.push('request_timeout', 'payload_too_large', 'unsupported_media_type', 'storage_full')
  const answers: Record<number, object> = {}
  for (const [status, same] of Map.groupBy(new Set(codes), (code) => errorTable[code].status)) {
    const named = same.map((code) => `\`${code}\``).join(', ')
    answers[status] = { description: `${named}: ${reasons[status]}.`, $ref: 'Error#' }
  }
  return answers
}

const reasons: Record<number, string> = {
  400: '`message` says what to change, and `details` lists the fields',
  401: 'no valid credential for this surface',
  403: 'not allowed for this credential',
  404: 'does not exist, or is not visible to the caller',
  408: 'the body did not arrive in time',
  409: 'the current state does not allow this',
  410: 'the cursor is too old',
  412: 'changed since the `ETag` in `If-Match`; nothing was written',
  413: 'send less at once',
  415: 'send JSON, or NDJSON where accepted',
  416: 'the range is outside the file',
  422: 'the key was used with a different request',
  429: 'wait for the seconds in `Retry-After`',
  431: 'the address and the headers are too large together; valid parameters always fit',
  503: 'unavailable; retry after the seconds in `Retry-After`, with growing pauses. Without `Retry-After`, waiting does not help',
}
