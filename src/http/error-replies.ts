import { readFileSync } from 'node:fs'
import type { ErrorObject } from 'ajv'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, TidemarkError, UnavailableError } from '../platform/errors.ts'
import { detailsOf, messageOf } from '../platform/validation.ts'

/** The body of every error on every surface. */
export interface ErrorBody {
  code: ErrorCode
  message: string
  request_id: string
  details?: readonly { path: string; message: string }[]
}

/** The error codes of an area for a bad request, and for a store or an index that is unavailable. */
export interface AreaCodes {
  readonly invalid?: ErrorCode
  readonly unavailable?: ErrorCode
}

/** Returns one of our errors for anything the framework or our code threw, with the codes of the route's area. */
export function errorFrom(
  error: unknown,
  { invalid = 'invalid_request', unavailable = 'store_unavailable' }: AreaCodes,
): TidemarkError {
  if (error instanceof TidemarkError) {
    if (error.code !== 'store_unavailable' || unavailable === 'store_unavailable') return error
    const { message, retryAfterSeconds = 1 } = error
    return new TidemarkError(unavailable, message, { retryAfterSeconds, cause: error })
  }
  if (error instanceof UnavailableError) {
    const message = 'temporarily unavailable: try again later, with growing pauses'
    return new TidemarkError(unavailable, message, { retryAfterSeconds: 1, cause: error })
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
  }
  if (known.statusCode !== undefined && known.statusCode >= 400 && known.statusCode < 500) {
    return new TidemarkError(invalid, 'the request could not be read: check its headers and body', { cause: error })
  }
  return new TidemarkError(
    'internal',
    'something went wrong on the server, not in your request: find it in the log by the request ID',
    {
      cause: error,
    },
  )
}

export function answerError(error: TidemarkError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', String(error.retryAfterSeconds))
  reply.header('x-request-id', request.id)
  if (error.status === 401) reply.header('www-authenticate', 'Bearer')
  if (request.is404 || request.routeOptions.config.operation === 'pages.view') {
    reply.header('vary', 'Accept')
    // An address that cannot be decoded does not exist either.
    const isNowhere = error.code === 'not_found' || error.code === 'invalid_request'
    if (isNowhere && acceptsPage(request)) return sendNotFoundPage(reply)
  }
  const body = request.routeOptions.config.errorBody?.(error, request) ?? bodyOf(error, request.id)
  // Serialised here, because the route's response schema does not fit errors and would drop fields.
  return reply
    .status(error.status)
    .type('application/json; charset=utf-8')
    .serializer((value: unknown) => JSON.stringify(value))
    .send(body)
}

/** The fault of an address that cannot be decoded. Its escapes would otherwise be read as literal characters. */
export const invalidPercentEscape = 'a percent-escape that is not UTF-8: write a percent sign as %25'

export function bodyOf(error: TidemarkError, requestId: string): ErrorBody {
  const body: ErrorBody = { code: error.code, message: error.message, request_id: requestId }
  if (error.details !== undefined && error.details.length > 0) body.details = error.details
  return body
}

const notFoundFile = new URL('../../console/not-found.html', import.meta.url)
let notFoundPage: string | undefined

/** Returns whether a browser sent the request. Programs that accept JSON or any type get the usual error body. */
function acceptsPage({ method, headers }: FastifyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  const types = (headers.accept ?? '').split(',').map((one) => one.split(';', 1)[0]!.trim().toLowerCase())
  return types.includes('text/html') && !types.includes('application/json')
}

function sendNotFoundPage(reply: FastifyReply): FastifyReply {
  notFoundPage ??= readFileSync(notFoundFile, 'utf8')
  return reply.status(404).type('text/html; charset=utf-8').send(notFoundPage)
}
