import type { FastifyRequest } from 'fastify'
import { type Static, type TProperties, Type } from 'typebox'
import { bodyOf } from '../http/error-replies.ts'
import { internalRequests } from '../http/internal-requests.ts'
import { IdempotencyHeaders } from '../http/make-once.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { TidemarkError } from '../platform/errors.ts'
import {
  choice,
  detailsOf,
  messageOf,
  named,
  noFields,
  orNull,
  printablePattern,
  type Validator,
  validatorFor,
} from '../platform/validation.ts'

/** The messages of agents are short. */
const messageBytesMax = 65_536

const messageIdLengthMax = 128
const MessageId = Type.Union(
  [Type.String({ maxLength: messageIdLengthMax, pattern: printablePattern }), Type.Integer()],
  { description: 'Absent from notifications.' },
)

const Message = named(
  'McpMessage',
  Type.Object(
    {
      jsonrpc: choice(['2.0']),
      method: Type.String({
        minLength: 1,
        maxLength: 128,
        pattern: printablePattern,
        description: 'Such as `tools/call`.',
      }),
      id: Type.Optional(MessageId),
      params: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), { description: 'The parameters of the method.' }),
      ),
    },
    { additionalProperties: false, description: 'One JSON-RPC 2.0 message; batches are not supported.' },
  ),
)

/** Error codes of JSON-RPC 2.0. */
const faultCodes = { parse: -32700, invalidRequest: -32600, invalidParams: -32602 } as const

const McpError = named(
  'McpError',
  Type.Object(
    {
      jsonrpc: choice(['2.0']),
      id: orNull(MessageId, { description: 'The ID of the message, if it could be read.' }),
      error: named(
        'McpFault',
        Type.Object({
          code: Type.Integer({
            description: '-32700: the body is not JSON. -32600: it is not a valid message.',
          }),
          message: Type.String({ description: 'What to change.' }),
          data: Type.Record(Type.String(), Type.Unknown(), {
            description: '`code`, `request_id` and `details`, as on other routes.',
          }),
        }),
      ),
    },
    { description: 'A JSON-RPC 2.0 error.' },
  ),
)

/**
 * Statuses that mean a fault in the message itself. Credentials and rate limits are checked before that, and reported
 * as on every route.
 */
const messageFaults: readonly number[] = [400, 408, 413, 415]

function errorBody(error: TidemarkError, request: FastifyRequest): Static<typeof McpError> | null {
  const { principal, body, id: requestId } = request
  if (principal === null || !messageFaults.includes(error.status)) return null
  const isUnread = body === undefined && error.status === 400
  const { id } = (body ?? {}) as { readonly id?: unknown }
  const { message, ...data } = bodyOf(error, requestId)
  return {
    jsonrpc: '2.0',
    id: isMessageId(id) ? id : null,
    error: { code: isUnread ? faultCodes.parse : faultCodes.invalidRequest, message, data },
  }
}

const isMessageId = (id: unknown): id is Static<typeof MessageId> =>
  typeof id === 'string' ? id.length <= messageIdLengthMax : Number.isSafeInteger(id)

const shortText = Type.String({ maxLength: 1000 })
const anyObject = Type.Object({}, { additionalProperties: true })

/**
 * Validators for the parameters of methods. The SDK would report the same faults with a dump of its schema.
 */
const paramsOf: Readonly<Record<string, Validator>> = {
  initialize: validatorOf({
    protocolVersion: shortText,
    capabilities: anyObject,
    clientInfo: Type.Object({ name: shortText, version: shortText }, { additionalProperties: true }),
  }),
  'tools/call': validatorOf({ name: shortText, arguments: Type.Optional(anyObject) }),
  'tools/list': validatorOf({ cursor: Type.Optional(shortText) }),
}

function validatorOf(fields: TProperties): Validator {
  const _meta = Type.Optional(anyObject)
  const params = Type.Object({ ...fields, _meta }, { additionalProperties: true })
  return validatorFor(Type.Object({ params }, { additionalProperties: true }), 'body')
}

/** Describes in one sentence why the parameters of a message are invalid; null if they are valid. */
function paramsFault({ method, params = {} }: Static<typeof Message>): string | null {
  const validate = Object.hasOwn(paramsOf, method) ? paramsOf[method]! : null
  return validate === null || validate({ params }) ? null : messageOf(detailsOf(validate.errors))
}

export function mcpRoutes(app: TypedApp): void {
  app.post(
    '/mcp',
    {
      bodyLimit: messageBytesMax,
      config: { operation: 'mcp.call', invalid: 'invalid_request', errorBody },
      schema: {
        tags: ['Agents'],
        summary: 'Speak the Model Context Protocol',
        description:
          'Addition, for agents: MCP over streamable HTTP, without sessions. Each tool calls the routes of this API with the key of the request, so entitlements, quotas and usage are the same; a message counts as one request for the rate limit. ' +
          'If a tool call fails, the result has `isError` and says what to change; a malformed message is a JSON-RPC error. A wrong key and rate limits are answered as on every other route. An `Idempotency-Key` applies to what the called tool creates.',
        headers: IdempotencyHeaders,
        querystring: noFields,
        body: Message,
        response: {
          200: named(
            'McpAnswer',
            Type.Object(
              { jsonrpc: Type.String() },
              { additionalProperties: true, description: 'The `result` or the `error` of the message.' },
            ),
          ),
          202: Type.Null({ description: 'The notification was accepted.' }),
          ...Object.fromEntries(messageFaults.map((status) => [status, McpError])),
        },
      },
    },
    async (request, reply) => {
      const fault = paramsFault(request.body)
      if (fault !== null) {
        const error = { code: faultCodes.invalidParams, message: fault }
        return reply.send({ jsonrpc: '2.0', id: request.body.id ?? null, error } as { jsonrpc: string })
      }
      // Loaded on first use, because the SDK takes much memory and most instances never need it.
      const { answerMessage } = await import('./answer-message.ts')
      const { 'mcp-protocol-version': protocolVersion, 'idempotency-key': key } = request.headers
      const makeRequest = internalRequests(request, reply)
      const answer = await answerMessage(
        request.body,
        typeof protocolVersion === 'string' ? protocolVersion : null,
        // A tool that creates something may have an idempotency key among its arguments, which takes precedence.
        key === undefined
          ? makeRequest
          : (call) => makeRequest({ ...call, headers: { 'idempotency-key': key, ...call.headers } }),
        (tool, err) => request.log.error({ reqId: request.id, tool, err }, 'a tool failed'),
      )
      if (answer.body === null) return reply.status(answer.status as 202).send(undefined as never)
      reply.status(answer.status as 200).type('application/json; charset=utf-8')
      return reply.send(answer.body as never)
    },
  )
}
