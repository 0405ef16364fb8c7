import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TidemarkError } from '../errors.ts'
import { bodyOf } from './error-replies.ts'
import { requestIdOf } from './request-id.ts'
import type { Unrouted } from './request-log.ts'
import { securityHeaders } from './security-headers.ts'

/** Answers to what never becomes a request for the framework. Each is logged; of what the client sent, its method alone. */
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
   * What the HTTP parser refused is answered on the bare connection, which then closes. `unanswered` are the requests that
   * came on it before: an answer out of turn would be taken for one of theirs.
   */
  unparsed(error: NodeJS.ErrnoException, socket: Socket, unanswered: readonly ServerResponse[]): void {
    const last = unanswered.at(-1)
    const isBrokenOff = last?.req.complete === false && error.code === 'HPE_INVALID_EOF_STATE'
    if (error.code === 'ECONNRESET' || !socket.writable || isBrokenOff) {
      socket.destroy()
      return
    }
    // A body that cannot be read ends its request; what is said of its headers, or behind it, is not about it.
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

  /** A method by which proxies are asked to connect elsewhere, and which node makes no request of. */
  #connect({ method }: IncomingMessage, socket: Duplex): void {
    const { remoteAddress: ip } = socket as Socket
    const refusal = new TidemarkError('method_not_allowed', 'this is no proxy: ask for a path of its own')
    const reqId = answer(socket, refusal, { allow: '' })
    this.#log({ reqId, method, status: refusal.status, ip, reason: refusal.code })
  }

  /** An `Expect` other than 100-continue, which node refuses before there is a request for the framework. */
  #expectation(request: IncomingMessage, response: ServerResponse): void {
    const { method, socket } = request
    const refusal = new TidemarkError('expectation_failed', 'only "Expect: 100-continue" can be met: leave Expect out')
    const reqId = requestIdOf(request)
    response.writeHead(refusal.status, plainHeaders(reqId)).end(JSON.stringify(bodyOf(refusal, reqId)))
    this.#log({ reqId, method, status: refusal.status, ip: socket.remoteAddress, reason: refusal.code })
  }
}

/** Gives the id that it was answered with. */
function answer(socket: Duplex, refusal: TidemarkError, more: Readonly<Record<string, string>> = {}): string {
  const requestId = randomUUID()
  const body = JSON.stringify(bodyOf(refusal, requestId))
  const length = String(Buffer.byteLength(body))
  const headers = { ...plainHeaders(requestId), ...more, 'content-length': length, connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  // The reason phrase may be empty; clients go by the number.
  socket.end(`HTTP/1.1 ${refusal.status} \r\n${lines.join('')}\r\n${body}`)
  return requestId
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

const plainHeaders = (requestId: string) => ({
  'x-request-id': requestId,
  ...securityHeaders,
  'content-type': 'application/json; charset=utf-8',
})
