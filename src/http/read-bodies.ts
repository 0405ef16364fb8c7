import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { TidemarkError } from '../errors.ts'
import type { Connections } from './connections.ts'
import { decodeBody } from './decode-body.ts'
import { parseJsonBody } from './json-body.ts'

/**
 * Bodies as they come. JSON is read whole, within the size limit of its route and within `timeoutMs` of its headers.
 * NDJSON, where a route takes it, is handed on as a stream that must go on: when nothing moves for `timeoutMs` and it
 * is the client's turn, the connection is cut. Either may be compressed; what counts is then what comes out.
 */
export function readBodies(app: FastifyInstance, timeoutMs: number, connections: Connections): void {
  const bodies = new Bodies(largeBytesMax)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    refuseOtherCharset(request)
    const limit = request.routeOptions.bodyLimit
    if (Number(request.headers['content-length']) > limit) throw tooLarge()
    return parseJsonBody(request, await bodies.read(decodeBody(request, payload), limit, timeoutMs))
  })
  app.addContentTypeParser(
    ['application/x-ndjson', 'application/ndjson'],
    async (request: FastifyRequest, payload: IncomingMessage) => {
      if (request.routeOptions.config.lines !== true) throw notJson()
      refuseOtherCharset(request)
      const stream = decodeBody(request, payload)
      await untilFirstBytes(stream, timeoutMs)
      return stream
    },
  )
  // Of other routes no request need come by here.
  app.addHook('onRoute', (route) => {
    if (route.config?.lines !== true) return
    const cut = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
      if (request.body instanceof Readable) cutWhenStuck(request, timeoutMs, connections)
      done()
    }
    route.preHandler = [cut, route.preHandler ?? []].flat()
  })
}

const notJson = (): TidemarkError =>
  new TidemarkError('unsupported_media_type', 'send the body with Content-Type: application/json')

/** What is said to be in another charset would be read as what it is not. */
function refuseOtherCharset({ headers }: FastifyRequest): void {
  const { 'content-type': type = '' } = headers
  // Most say nothing but what it is.
  if (!type.includes(';')) return
  for (const [, value = ''] of type.matchAll(/;\s*charset\s*=\s*([^;]*)/gi)) {
    if (!/^("?)utf-?8\1$/i.test(value.trim())) {
      throw new TidemarkError('unsupported_media_type', 'send the body in UTF-8, the only charset that is read')
    }
  }
}

const tooLarge = (): TidemarkError =>
  new TidemarkError('payload_too_large', 'the body is larger than this route takes: send less at once')

/**
 * What is read of a body is held in memory until all of it is there, before anybody has a permit. A small one anybody may
 * have; of what goes beyond that, so much is held of all bodies together.
 */
const smallBytes = 1_048_576
const largeBytesMax = 256 * 1_048_576

export class Bodies {
  #largeBytesMax: number
  #largeBytes = 0

  constructor(largeBytes: number) {
    this.#largeBytesMax = largeBytes
  }

  read(source: Readable, bytesMax: number, timeoutMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let length = 0
      let large = 0
      const stop = (): void => {
        clearTimeout(late)
        source.off('data', onData)
        this.#largeBytes -= large
        large = 0
      }
      const refuse = (error: Error): void => {
        stop()
        // What still comes is read and thrown away, so that the client comes to read the answer.
        source.resume()
        reject(error)
      }
      const onData = (chunk: Buffer): void => {
        chunks.push(chunk)
        length += chunk.length
        const more = Math.max(0, length - smallBytes) - large
        large += more
        this.#largeBytes += more
        if (length > bytesMax) refuse(tooLarge())
        else if (more > 0 && this.#largeBytes > this.#largeBytesMax) refuse(noRoom())
      }
      const late = setTimeout(() => refuse(tooSlow(timeoutMs)), timeoutMs)
      source.on('data', onData)
      source.once('end', () => {
        stop()
        resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length))
      })
      source.on('error', (error) => refuse(asOurs(error)))
    })
  }
}

const noRoom = (): TidemarkError =>
  new TidemarkError('overloaded', 'too many large bodies come at once: send less at once, or try again in a moment', {
    retryAfterSeconds: 1,
  })

/** Until a stream has something to read, or is at its end. */
function untilFirstBytes(source: Readable, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error): void => {
      clearTimeout(late)
      source.off('data', onData).off('end', onEnd).off('error', onError)
      if (error === undefined) resolve()
      else reject(error)
    }
    const onData = (chunk: Buffer): void => {
      source.pause()
      source.unshift(chunk)
      settle()
    }
    const onEnd = (): void => settle()
    const onError = (error: Error): void => settle(asOurs(error))
    const late = setTimeout(() => settle(tooSlow(timeoutMs)), timeoutMs)
    source.on('data', onData).on('end', onEnd).on('error', onError)
  })
}

/** Of the stream itself there are no errors but that its sender went away. */
const asOurs = (error: Error): Error =>
  error instanceof TidemarkError
    ? error
    : new TidemarkError('client_closed_request', 'the client went away before it was answered', { cause: error })

const tooSlow = (timeoutMs: number): TidemarkError =>
  new TidemarkError('request_timeout', `the body did not arrive within ${timeoutMs / 1000} s: send it again`)

/**
 * It is the client's turn when there is nothing to read that it sent, or something that it should read. Where neither is
 * so, the store is slow, and the client must wait for it as everybody does.
 */
function cutWhenStuck(request: FastifyRequest, timeoutMs: number, connections: Connections): void {
  const { raw } = request
  const { socket } = raw
  let moved = socket.bytesRead + socket.bytesWritten
  let movedAt = performance.now()
  const look = setInterval(() => {
    const now = socket.bytesRead + socket.bytesWritten
    const clientsTurn = (raw.readableLength === 0 && !raw.complete) || socket.writableLength > 0
    if (now !== moved || !clientsTurn) {
      moved = now
      movedAt = performance.now()
    } else if (performance.now() - movedAt >= timeoutMs) {
      connections.cutSlow(socket)
    }
  }, timeoutMs / 4)
  request.exchange.whenOver(() => clearInterval(look))
}
