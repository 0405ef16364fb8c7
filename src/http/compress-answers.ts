import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { acceptedWeights } from './request-head.ts'

const bytesMin = 1024

const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_MODE, BROTLI_MODE_TEXT } = zlib.constants
const brotli = { params: { [BROTLI_PARAM_QUALITY]: 4, [BROTLI_PARAM_MODE]: BROTLI_MODE_TEXT } }

type Compress = (content: Buffer) => Promise<Buffer>

/** In the order of our preference, for encodings that the client accepts equally. */
const encodings = {
  zstd: promisify<Buffer, Buffer>(zlib.zstdCompress),
  br: (content) => promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliCompress)(content, brotli),
  gzip: promisify<Buffer, Buffer>(zlib.gzip),
} satisfies Record<string, Compress>
export type Encoding = keyof typeof encodings
const preferred = Object.keys(encodings) as Encoding[]

/** Returns the encoding to use for this `Accept-Encoding`; null for none. */
export function encodingFor(accepted: string | undefined): Encoding | null {
  if (accepted === undefined) return null
  const weights = acceptedWeights(accepted)
  let best: Encoding | null = null
  let most = 0
  for (const encoding of preferred) {
    const weight = weights.get(encoding) ?? weights.get('*') ?? 0
    if (weight > most) [best, most] = [encoding, weight]
  }
  return best
}

/** A text has at least as many bytes as characters, so the bytes of a long one need not be counted. */
const isSmall = (content: string | Buffer): boolean =>
  content.length < bytesMin && Buffer.byteLength(content) < bytesMin

/**
 * Compresses JSON answers as `Accept-Encoding` allows. Only complete answers of at least `bytesMin` are compressed.
 * Streams are sent as they are, and files of analysis runs are compressed already.
 *
 * Compression runs in the thread pool of libuv. @fastify/compress was not cheaper, and brings further packages.
 */
export function compressAnswers(app: FastifyInstance): void {
  /** A buffer that is sent repeatedly is compressed once. */
  const known = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>()
  const compressed = (content: string | Buffer, encoding: Encoding): Promise<Buffer> => {
    const compress = encodings[encoding]
    if (typeof content === 'string') return compress(Buffer.from(content))
    const forms = known.get(content) ?? new Map<Encoding, Promise<Buffer>>()
    known.set(content, forms)
    const form = forms.get(encoding) ?? compress(content)
    forms.set(encoding, form)
    return form
  }
  app.addHook('onSend', (request, reply, payload: unknown, done) => {
    const content = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : null
    const isJson = String(reply.getHeader('content-type')).startsWith('application/json')
    if (content === null || !isJson || isSmall(content)) {
      done(null, payload)
      return
    }
    const vary = reply.getHeader('vary')
    reply.header('vary', vary === undefined ? 'Accept-Encoding' : `${vary}, Accept-Encoding`)
    const encoding = encodingFor(request.headers['accept-encoding'])
    if (encoding === null) {
      done(null, payload)
      return
    }
    compressed(content, encoding).then((bytes) => {
      reply.header('content-encoding', encoding)
      done(null, bytes)
    }, done)
  })
}
