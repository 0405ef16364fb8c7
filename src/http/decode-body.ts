import type { IncomingMessage } from 'node:http'
import { Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { TidemarkError } from '../errors.ts'

/** What bodies may be compressed with. A zstd window is 8 MiB at most, as HTTP has it. */
const decoders: Readonly<Record<string, () => Transform & { readonly bytesWritten: number }>> = {
  gzip: () => zlib.createGunzip({ chunkSize }),
  'x-gzip': () => zlib.createGunzip({ chunkSize }),
  deflate: () => zlib.createInflate({ chunkSize }),
  br: () => zlib.createBrotliDecompress({ chunkSize }),
  zstd: () => zlib.createZstdDecompress({ chunkSize, params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } }),
}
const chunkSize = 65_536

/**
 * Texts become a twentieth, pages that are mostly the same a five-hundredth; deflate makes nothing smaller than a
 * thousandth. What became less than this after so many bytes is made to exhaust us.
 */
const ratioMax = 2000
const ratioFromBytes = 16 * 1024 * 1024

/** The body as it was before it was compressed. An error of the stream is one of ours, or means that the client is gone. */
export function decodeBody(request: FastifyRequest, payload: IncomingMessage): Readable {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity') return payload
  if (!Object.hasOwn(decoders, encoding)) {
    const message = 'send the body as it is, or with Content-Encoding: gzip, deflate, br or zstd'
    throw new TidemarkError('unsupported_media_type', message)
  }
  const invalid = request.routeOptions.config.invalid ?? 'invalid_request'
  const broken = (cause: unknown) => new TidemarkError(invalid, `the body is not valid ${encoding}`, { cause })
  return Readable.from(decode(payload, decoders[encoding]!(), broken), { objectMode: false })
}

async function* decode(
  payload: IncomingMessage,
  decoder: Transform & { readonly bytesWritten: number },
  broken: (cause: unknown) => TidemarkError,
): AsyncGenerator<Buffer> {
  // A pipe tells nothing of a source that breaks off, and a pipeline would close the connection with the decoder.
  const gone = (error: Error): void => void decoder.destroy(error)
  payload.once('error', gone)
  let bytes = 0
  try {
    for await (const chunk of payload.pipe(decoder) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > ratioFromBytes && bytes > ratioMax * decoder.bytesWritten) {
        throw new TidemarkError('payload_too_large', 'the body is compressed too much to be a text: send it as it is')
      }
      yield chunk
    }
  } catch (error) {
    throw error instanceof TidemarkError || payload.errored !== null ? error : broken(error)
  } finally {
    payload.unpipe(decoder)
    payload.resume()
  }
}
