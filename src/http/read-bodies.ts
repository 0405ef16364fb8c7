import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { TidemarkError } from '../platform/errors.ts'
import { exceededJsonLimit, jsonLimits, positionOfFault } from '../platform/json-text.ts'
import type { Connections } from './connections.ts'
import { decodeBody } from './decode-body.ts'

/**
 * Reads bodies. A JSON body is read whole, within the size limit of its route and within `timeoutMs` after its headers.
 * NDJSON, where a route accepts it, is passed on as a stream that must make progress: the connection is cut if no byte
 * moves for `timeoutMs` while the server waits for the client. Either may be compressed; limits apply to the
 * uncompressed size.
 */
export function readBodies(app: FastifyInstance, timeoutMs: number, connections: Connections): void {
  const bodies = new Bodies(largeBytesMax)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    refuseOtherCharset(request)
    const limit = request.routeOptions.bodyLimit
    if (Number(request.headers['content-length']) > limit) throw tooLarge()
    return parseJsonBody(request, await bodies.read(decodeBody(request, payload), limit, timeoutMs, payload))
  })
  app.addContentTypeParser(
    ['application/x-ndjson', 'application/ndjson'],
    async (request: FastifyRequest, payload: IncomingMessage) => {
      if (request.routeOptions.config.lines !== true) throw notJson()
      refuseOtherCharset(request)
      const stream = decodeBody(request, payload)
      await untilFirstBytes(stream, timeoutMs, payload)
      return stream
    },
  )
  // Only routes that accept NDJSON need this hook.
  app.addHook('onRoute', (route) => {
    if (route.config?.lines !== true) return
    const cut = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
      if (request.body instanceof Readable) cutWhenStalled(request, timeoutMs, connections)
      done()
    }
    route.preHandler = [cut, route.preHandler ?? []].flat()
  })
}

const notJson = (): TidemarkError =>
  new TidemarkError('unsupported_media_type', 'send the body with Content-Type: application/json')

/** Refuses a body in another charset, because it would be misread as UTF-8. */
function refuseOtherCharset({ headers }: FastifyRequest): void {
  const { 'content-type': type = '' } = headers
  // Most requests name no charset.
  if (!type.includes(';')) return
  for (const [, value = ''] of type.matchAll(/;\s*charset\s*=\s*([^;]*)/gi)) {
    if (!/^("?)utf-?8\1$/i.test(value.trim())) {
      throw new TidemarkError('unsupported_media_type', 'send the body in UTF-8, the only supported charset')
    }
  }
}

const tooLarge = (): TidemarkError =>
  new TidemarkError('payload_too_large', 'the body is larger than this route accepts: send less at once')

/**
 * A body is held in memory until it is complete, before the request has a permit. Each body may hold `smallBytes`. All
 * bodies together may hold `largeBytesMax` beyond that.
 */
const smallBytes = 1_048_576
const largeBytesMax = 256 * 1_048_576

export class Bodies {
  #largeBytesMax: number
  #largeBytes = 0

  constructor(largeBytes: number) {
    this.#largeBytesMax = largeBytes
  }

  /** `payload` is the compressed input of the source, or the source itself. */
  read(source: Readable, bytesMax: number, timeoutMs: number, payload: Readable): Promise<Buffer> {
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
        discardRest(source, payload)
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

/**
 * Reads and discards the rest, so that the client can read the answer. The rest of a compressed body is not
 * decompressed, because that could be a thousand times as much.
 */
function discardRest(source: Readable, payload: Readable): void {
  if (source === payload) source.resume()
  else source.destroy()
}

const noRoom = (): TidemarkError =>
  new TidemarkError(
    'overloaded',
    'too many large bodies are arriving at once: send less at once, or try again in a moment',
    {
      retryAfterSeconds: 1,
    },
  )

/** Resolves when the stream has data, or is at its end. */
function untilFirstBytes(source: Readable, timeoutMs: number, payload: Readable): Promise<void> {
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
    const late = setTimeout(() => {
      discardRest(source, payload)
      settle(tooSlow(timeoutMs))
    }, timeoutMs)
    source.on('data', onData).on('end', onEnd).on('error', onError)
  })
}

/** A stream error that is not one of ours means that the client disconnected. */
const asOurs = (error: Error): Error =>
  error instanceof TidemarkError
    ? error
    : new TidemarkError('client_closed_request', 'the client disconnected before it was answered', { cause: error })

const tooSlow = (timeoutMs: number): TidemarkError =>
  new TidemarkError('request_timeout', `the body did not arrive within ${timeoutMs / 1000} s: send it again`)

/**
 * Cuts the connection when the client has stalled: nothing that it sent is unread, or it has an answer to read.
 * Otherwise the store is slow, and the client waits as all others do.
 */
function cutWhenStalled(request: FastifyRequest, timeoutMs: number, connections: Connections): void {
  const { raw } = request
  const { socket } = raw
  let moved = socket.bytesRead + socket.bytesWritten
  let movedAt = performance.now()
  const timer = setInterval(() => {
    const now = socket.bytesRead + socket.bytesWritten
    const waitsForClient = (raw.readableLength === 0 && !raw.complete) || socket.writableLength > 0
    if (now !== moved || !waitsForClient) {
      moved = now
      movedAt = performance.now()
    } else if (performance.now() - movedAt >= timeoutMs) {
      connections.cutSlow(socket)
    }
  }, timeoutMs / 4)
  request.exchange.onEnd(() => clearInterval(timer))
}

const passedLimits = {
  levels: `is nested deeper than ${jsonLimits.levels} levels`,
  values: `has more than ${jsonLimits.values} values: send less at once`,
} as const

/** Returns the value of a JSON body, or throws the area's 400 with the fault. An empty body has no value. */
function parseJsonBody(request: FastifyRequest, body: Buffer): unknown {
  if (body.length === 0) return undefined
  const refused = (what: string, cause?: unknown) =>
    new TidemarkError(request.routeOptions.config.invalid ?? 'invalid_request', `the body ${what}`, { cause })
  // Decoding would silently replace invalid bytes by U+FFFD.
  if (!isUtf8(body)) throw refused('is not valid UTF-8')
  const text = body.toString('utf8')
  const limit = exceededJsonLimit(text, jsonLimits)
  if (limit !== null) throw refused(passedLimits[limit])
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refused(`is not valid JSON${positionOfFault(error)}`, error)
  }
}
