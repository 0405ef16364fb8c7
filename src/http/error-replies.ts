import type { ErrorObject } from 'ajv'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, TidemarkError } from '../errors.ts'
import { detailsOf, messageOf } from '../validation.ts'

/** The body of every error on every surface. */
export interface ErrorBody {
  code: ErrorCode
  message: string
  request_id: string
  details?: readonly { path: string; message: string }[]
}

/** What the framework or our own code threw, as one of our errors; `invalid` is the 400 code of the route's area. */
export function errorFrom(error: unknown, invalid: ErrorCode): TidemarkError {
  if (error instanceof TidemarkError) return error
  const known = error as { code?: string; statusCode?: number; validation?: ErrorObject[] }
  if (known.validation !== undefined) {
    const details = detailsOf(known.validation)
    return new TidemarkError(invalid, messageOf(details), { details, cause: error })
  }
  switch (known.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new TidemarkError('payload_too_large', 'the body is larger than this route takes: send less at once', {
        cause: error,
      })
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

export function malformedJson(request: FastifyRequest, cause: unknown): TidemarkError {
  const invalid = request.routeOptions.config.invalid ?? 'invalid_request'
  return new TidemarkError(invalid, 'the body is not valid JSON', { cause })
}

export function answerError(error: TidemarkError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error.code === 'internal') request.log.error({ err: error.cause ?? error }, 'request failed')
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', String(error.retryAfterSeconds))
  if (error.status === 401) reply.header('www-authenticate', 'Bearer')
  const body: ErrorBody = { code: error.code, message: error.message, request_id: request.id }
  if (error.details !== undefined && error.details.length > 0) body.details = error.details
  // Written as text: the route's response schema is not made for errors and must not cut them.
  return reply
    .status(error.status)
    .header('x-request-id', request.id)
    .type('application/json; charset=utf-8')
    .serializer((value: unknown) => JSON.stringify(value))
    .send(body)
}
