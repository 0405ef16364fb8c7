import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { kindOf } from '../access/credential-kinds.ts'
import { quotaOperations } from '../access/operations.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { errorTable } from '../platform/errors.ts'
import type { Connections } from './connections.ts'
import type { HttpMeasures } from './http-measures.ts'
import { outerRequest } from './internal-requests.ts'

interface LogParts {
  readonly logger: FastifyBaseLogger
  readonly measures: HttpMeasures
  readonly usage: UsageBook
}

/**
 * The status of a request whose answer was not sent completely. If the client disconnected or stalled, this is a 4xx.
 * If we closed the connection, because an answer failed or the server shut down, it is a 500.
 */
const unanswered = {
  gone: errorTable.client_closed_request.status,
  slow: errorTable.request_timeout.status,
  cut: errorTable.internal.status,
} as const

/** A request that was refused before it reached a route. */
export interface Unrouted {
  readonly reqId: string
  /** Unknown if it could not be parsed. */
  readonly method?: string | undefined
  readonly status: number
  readonly ip: string | undefined
  /** Our error code or that of the parser. */
  readonly reason: string
}

export function logUnrouted({ logger, measures }: Omit<LogParts, 'usage'>, request: Unrouted): void {
  const { reqId, method, status, ip, reason } = request
  measures.request('unknown', status, 0)
  logger.info({ reqId, method, operation: 'unknown', status, ms: 0, ip, reason }, 'request')
}

/**
 * Writes one line and one measurement for each request when it ends, however it ends. Called when the request starts.
 */
export function requestLog(
  { logger, measures, usage }: LogParts,
  connections: Connections,
): (request: FastifyRequest, reply: FastifyReply) => void {
  return (request, reply) => {
    // Read now, because a closed connection no longer knows it.
    const { ip } = request
    const isInner = outerRequest() !== undefined
    request.exchange.onEnd(() => {
      const { operation = 'unknown' } = request.routeOptions.config
      const { principal, trace } = request
      const { elapsedTime } = reply
      const { waitedMs } = request.exchange
      // An internal request has no connection. It is answered when its response has ended.
      const isAnswered = isInner ? reply.raw.writableEnded : reply.raw.writableFinished
      const status = isAnswered ? reply.statusCode : unanswered[connections.endOf(request.raw)]
      measures.request(operation, status, Math.max(0, elapsedTime - waitedMs) / 1000)
      // A bad request or a client that disconnected is not our failure.
      trace?.end({ 'http.response.status_code': status, 'tidemark.operation': operation }, status >= 500)
      const counted = principal === null || request.isRepeat ? null : kindOf(principal).counted(principal)
      if (counted !== null && status < 400 && operation !== 'unknown' && !(operation in quotaOperations)) {
        usage.count(counted, operation, Date.now())
      }
      logger.info(
        {
          reqId: request.id,
          method: request.method,
          operation,
          ...(trace === null ? {} : { trace_id: trace.traceId }),
          status,
          ms: Math.round(elapsedTime * 10) / 10,
          ...(waitedMs === 0 ? {} : { waitedMs: Math.round(waitedMs * 10) / 10 }),
          ip,
          ...(principal === null ? {} : kindOf(principal).logged(principal)),
          ...(status === unanswered.gone ? { aborted: true } : {}),
        },
        'request',
      )
    })
  }
}

/** Suppresses the log lines of the framework, and reports only an answer that was cut off after it had started. */
export class CutOffAnswers extends LogController {
  constructor() {
    super({ disableRequestLogging: true })
  }

  override streamError(error: Error & { readonly code?: string }, request: FastifyRequest): void {
    // This code means that the client disconnected.
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') request.degraded('answer_cut_off', error)
  }
}
