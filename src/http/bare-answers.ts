import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TidemarkError } from '../platform/errors.ts'
import { bodyOf } from './error-replies.ts'
import { headerBytesMax } from './query-parameters.ts'
import { requestIdOf } from './request-head.ts'
import type { Unrouted } from './request-log.ts'
import { securityHeaders } from './security-headers.ts'

/**
 * Answers for input that never becomes a request of the framework. Each is logged, with nothing from the client but its
 * method.
 */
export class BareAnswers {
  readonly #log: (request: Unrouted) => void

  constructor(log: (request: Unrouted) => void) {
    this.#log = log
  }

  listen(server: Server): void {
    server.on('checkExpectation', (request, response) => this.#expectation(request, response))
    server.on('connect', (request, socket) => this.#connect(request, socket))
  }

  /**
   * Answers input that the HTTP parser refused on the bare connection, and closes it. `unanswered` are the earlier
   * requests on the connection. Without their answers, the client would take this answer for the first of theirs.
   */
  unparsed(error: NodeJS.ErrnoException, socket: Socket, unanswered: readonly ServerResponse[]): void {
    const last = unanswered.at(-1)
    const isTruncated = last?.req.complete === false && error.code === 'HPE_INVALID_EOF_STATE'
    if (error.code === 'ECONNRESET' || !socket.writable || isTruncated) {
      socket.destroy()
      return
    }
    // An unreadable body ends its own request. A fault in headers, or after the body, belongs to another request.
    const isAboutBody = last?.req.complete === false && error.code !== 'HPE_INVALID_TRANSFER_ENCODING'
    if (last !== undefined && !(isAboutBody && unanswered.length === 1 && !last.headersSent)) {
      if (last.headersSent) socket.destroySoon()
      else last.setHeader('connection', 'close')
      return
    }
    const refusal = unparsed(error)
    const reqId = answer(socket, refusal)
    this.#log({ reqId, status: refusal.status, ip: socket.remoteAddress, reason: error.code ?? refusal.code })
  }

  /** CONNECT requests a tunnel from a proxy. Node reports it as an event, not as a request. */
  #connect({ method }: IncomingMessage, socket: Duplex): void {
    const { remoteAddress: ip } = socket as Socket
    const refusal = new TidemarkError('method_not_allowed', 'this server is not a proxy: request one of its own paths')
    const reqId = answer(socket, refusal, { allow: '' })
    this.#log({ reqId, method, status: refusal.status, ip, reason: refusal.code })
  }

  /** An `Expect` other than 100-continue. Node reports it before the framework has a request. */
  #expectation(request: IncomingMessage, response: ServerResponse): void {
    const { method, socket } = request
    const refusal = new TidemarkError(
      'expectation_failed',
      'only "Expect: 100-continue" is supported: remove the Expect header',
    )
    const reqId = requestIdOf(request)
    response.writeHead(refusal.status, plainHeaders(reqId)).end(JSON.stringify(bodyOf(refusal, reqId)))
    this.#log({ reqId, method, status: refusal.status, ip: socket.remoteAddress, reason: refusal.code })
  }
}

/** Returns the ID that the answer has. */
function answer(socket: Duplex, refusal: TidemarkError, more: Readonly<Record<string, string>> = {}): string {
  const requestId = randomUUID()
  const body = JSON.stringify(bodyOf(refusal, requestId))
  const length = String(Buffer.byteLength(body))
  const headers = { ...plainHeaders(requestId), ...more, 'content-length': length, connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  // The reason phrase may be empty, because clients use the number.
  socket.end(`HTTP/1.1 ${refusal.status} \r\n${lines.join('')}\r\n${body}`)
  return requestId
}

function unparsed(error: NodeJS.ErrnoException): TidemarkError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new TidemarkError(
        'headers_too_large',
        `the address and the headers are larger than ${headerBytesMax / 1024} KiB together: send less`,
      )
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new TidemarkError('request_timeout', 'the request did not arrive in time: send it again')
    default:
      return new TidemarkError('invalid_request', 'this is not a valid HTTP request')
  }
}

const plainHeaders = (requestId: string) => ({
  'x-request-id': requestId,
  ...securityHeaders,
  'content-type': 'application/json; charset=utf-8',
})
