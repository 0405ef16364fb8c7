import { Type } from 'typebox'
import { askOwnRoutes } from '../http/own-requests.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { choice, named, noFields, printablePattern } from '../validation.ts'

/** What an agent asks is short. */
const messageBytesMax = 65_536

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
      id: Type.Optional(
        Type.Union([Type.String({ maxLength: 128, pattern: printablePattern }), Type.Integer()], {
          description: 'Absent from notifications.',
        }),
      ),
      params: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'As the method takes them.' })),
    },
    { additionalProperties: false, description: 'One message of JSON-RPC 2.0; no batches.' },
  ),
)

export function mcpRoutes(app: TypedApp): void {
  app.post(
    '/mcp',
    {
      bodyLimit: messageBytesMax,
      config: { operation: 'mcp.call', invalid: 'invalid_request' },
      schema: {
        tags: ['Agents'],
        summary: 'Speak the Model Context Protocol',
        description:
          'An addition, for agents: MCP over streamable HTTP, without sessions. Each tool asks the routes of this API in the name of the key: entitlements, quotas and counters are the same, and a message takes one request of the rate. ' +
          'What a tool is refused is an answer with `isError`, which says what to change.',
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
          202: Type.Null({ description: 'A notification was taken.' }),
        },
      },
    },
    async (request, reply) => {
      // Some 30 MB and .15 s of CPU: most instances are never asked.
      const { answerMessage } = await import('./answer-message.ts')
      const { 'mcp-protocol-version': protocolVersion } = request.headers
      const answer = await answerMessage(
        request.body,
        typeof protocolVersion === 'string' ? protocolVersion : null,
        askOwnRoutes(request, reply),
        (tool, err) => request.log.error({ reqId: request.id, tool, err }, 'a tool failed'),
      )
      reply.status(answer.status as 200).type('application/json; charset=utf-8')
      return reply.send(answer.body as never)
    },
  )
}
