import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { kindOf } from '../access/credential-kinds.ts'
import { quotaOperations } from '../access/operations.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { errorTable } from '../errors.ts'
import type { Connections } from './connections.ts'
import type { HttpMeasures } from './http-measures.ts'
import { askedWithin } from './own-requests.ts'

interface LogParts {
  readonly logger: FastifyBaseLogger
  readonly measures: HttpMeasures
  readonly usage: UsageBook
}

/**
 * The status of a request that was not answered, or not to its end. A client that went away is nobody's error, nor is one
 * that stood still; a connection that we ended ourselves, in the middle of an answer that failed or of a shutdown, is ours.
 */
const unanswered = {
  gone: errorTable.client_closed_request.status,
  slow: errorTable.request_timeout.status,
  cut: errorTable.internal.status,
} as const

/** What was refused before there was a route to give it to. */
export interface Unrouted {
  readonly reqId: string
  /** Not known where it could not be read. */
  readonly method?: string | undefined
  readonly status: number
  readonly ip: string | undefined
  /** In words of ours or of the parser. */
  readonly reason: string
}

export function logUnrouted({ logger, measures }: Omit<LogParts, 'usage'>, request: Unrouted): void {
  const { reqId, method, status, ip, reason } = request
  measures.request('unknown', status, 0)
  logger.info({ reqId, method, operation: 'unknown', status, ms: 0, ip, reason }, 'request')
}

/** One line and one measurement for every request when it is over, however it ended; asked for when it begins. */
export function requestLog(
  { logger, measures, usage }: LogParts,
  connections: Connections,
): (request: FastifyRequest, reply: FastifyReply) => void {
  return (request, reply) => {
    // Not known any more when the connection is gone.
    const { ip } = request
    const isWithin = askedWithin() !== undefined
    request.exchange.whenOver(() => {
      const { operation = 'unknown' } = request.routeOptions.config
      const { principal } = request
      const { elapsedTime } = reply
      // Of a request within another one nothing is sent: it is answered when its answer has ended.
      const isAnswered = isWithin ? reply.raw.writableEnded : reply.raw.writableFinished
      const status = isAnswered ? reply.statusCode : unanswered[connections.endOf(request.raw)]
      measures.request(operation, status, elapsedTime / 1000)
      const counted = principal === null || request.isRepeat ? null : kindOf(principal).counted(principal)
      if (counted !== null && status < 400 && operation !== 'unknown' && !(operation in quotaOperations)) {
        usage.count(counted, operation, Date.now())
      }
      logger.info(
        {
          reqId: request.id,
          method: request.method,
          operation,
          status,
          ms: Math.round(elapsedTime * 10) / 10,
          ip,
          ...(principal === null ? {} : kindOf(principal).logged(principal)),
          ...(status === unanswered.gone ? { aborted: true } : {}),
        },
        'request',
      )
    })
  }
}
