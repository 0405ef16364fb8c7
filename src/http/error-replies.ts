import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ErrorObject } from 'ajv'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, TidemarkError } from '../errors.ts'
import { detailsOf, messageOf } from '../validation.ts'
import { requestIdOf } from './request-id.ts'
import { securityHeaders } from './security-headers.ts'

/** The body of every error on every surface. */
export interface ErrorBody {
  code: ErrorCode
  message: string
  request_id: string
  details?: readonly { path: string; message: string }[]
}

/** What an area's errors are called: a bad request, and a store that is not there. */
export interface AreaCodes {
  readonly invalid?: ErrorCode
  readonly unavailable?: ErrorCode
}

/** What the framework or our own code threw, as one of our errors, in the words of the route's area. */
export function errorFrom(
  error: unknown,
  { invalid = 'invalid_request', unavailable = 'store_unavailable' }: AreaCodes,
): TidemarkError {
  if (error instanceof TidemarkError) {
    if (error.code !== 'store_unavailable' || unavailable === 'store_unavailable') return error
    const { message, retryAfterSeconds = 1 } = error
    return new TidemarkError(unavailable, message, { retryAfterSeconds, cause: error })
  }
  const known = error as { code?: string; statusCode?: number; validation?: ErrorObject[] }
  if (known.validation !== undefined) {
    const details = detailsOf(known.validation)
    return new TidemarkError(invalid, messageOf(details), { details, cause: error })
  }
  switch (known.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new TidemarkError('unsupported_media_type', 'send the body with Content-Type: application/json', {
        cause: error,
      })
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new TidemarkError('not_found', 'there is nothing at this path: /docs lists every route', { cause: error })
  }
  if (known.statusCode !== undefined && known.statusCode >= 400 && known.statusCode < 500) {
    return new TidemarkError(invalid, 'the request could not be read: check its headers and body', { cause: error })
  }
  return new TidemarkError(
    'internal',
    'something went wrong here, not in your request; the request id finds it in the log',
    {
      cause: error,
    },
  )
}

export function answerError(error: TidemarkError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', String(error.retryAfterSeconds))
  if (error.status === 401) reply.header('www-authenticate', 'Bearer')
  const body = bodyOf(error, request.id)
  // Written as text: the route's response schema is not made for errors and must not cut them.
  return reply
    .status(error.status)
    .header('x-request-id', request.id)
    .type('application/json; charset=utf-8')
    .serializer((value: unknown) => JSON.stringify(value))
    .send(body)
}

function bodyOf(error: TidemarkError, requestId: string): ErrorBody {
  const body: ErrorBody = { code: error.code, message: error.message, request_id: requestId }
  if (error.details !== undefined && error.details.length > 0) body.details = error.details
  return body
}

/** What the HTTP parser refused never becomes a request: it is answered on the bare connection, which then closes. */
export function answerUnparsed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  answerBare(socket, unparsed(error))
}

/** A method by which proxies are asked to connect elsewhere, and which node makes no request of. */
export function answerConnect(_request: IncomingMessage, socket: Duplex): void {
  const refusal = new TidemarkError('method_not_allowed', 'this is no proxy: ask for a path of its own')
  answerBare(socket, refusal, { allow: '' })
}

function answerBare(socket: Duplex, refusal: TidemarkError, more: Readonly<Record<string, string>> = {}): void {
  const requestId = randomUUID()
  const body = JSON.stringify(bodyOf(refusal, requestId))
  const length = String(Buffer.byteLength(body))
  const headers = { ...plainHeaders(requestId), ...more, 'content-length': length, connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  // The reason phrase may be empty; clients go by the number.
  socket.end(`HTTP/1.1 ${refusal.status} \r\n${lines.join('')}\r\n${body}`)
}

function unparsed(error: NodeJS.ErrnoException): TidemarkError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new TidemarkError('headers_too_large', 'the headers are larger than 16 KiB together: send less')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new TidemarkError('request_timeout', 'the request did not arrive in time: send it again')
    default:
      return new TidemarkError('invalid_request', 'this is not a valid HTTP request')
  }
}

/** An `Expect` other than 100-continue, which node refuses before there is a request for the framework. */
export function answerExpectation(request: IncomingMessage, response: ServerResponse): void {
  const refusal = new TidemarkError('expectation_failed', 'only "Expect: 100-continue" can be met: leave Expect out')
  const requestId = requestIdOf(request)
  response.writeHead(refusal.status, plainHeaders(requestId)).end(JSON.stringify(bodyOf(refusal, requestId)))
}

const plainHeaders = (requestId: string) => ({
  'x-request-id': requestId,
  ...securityHeaders,
  'content-type': 'application/json; charset=utf-8',
})
