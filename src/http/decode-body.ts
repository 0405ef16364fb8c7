import type { IncomingMessage } from 'node:http'
import { Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { TidemarkError } from '../platform/errors.ts'

/** The supported values of Content-Encoding. A zstd window is at most 8 MiB (RFC 9659). */
const decoders: Readonly<Record<string, () => Transform & { readonly bytesWritten: number }>> = {
  gzip: () => zlib.createGunzip({ chunkSize }),
  'x-gzip': () => zlib.createGunzip({ chunkSize }),
  deflate: () => zlib.createInflate({ chunkSize }),
  br: () => zlib.createBrotliDecompress({ chunkSize }),
  zstd: () => zlib.createZstdDecompress({ chunkSize, params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } }),
}
const chunkSize = 65_536

/**
 * The largest accepted ratio of uncompressed to compressed bytes. Text shrinks about 20-fold, very repetitive pages
 * 500-fold, and deflate can never exceed about 1000-fold. A body above this ratio is a decompression bomb. The check
 * starts after `ratioFromBytes`.
 */
const ratioMax = 2000
const ratioFromBytes = 16 * 1024 * 1024

/**
 * Returns the uncompressed body. The stream fails with one of our errors, or because the client has disconnected.
 * Destroying it stops decompression and discards the rest of the input.
 */
export function decodeBody(request: FastifyRequest, payload: IncomingMessage): Readable {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity') return payload
  if (!Object.hasOwn(decoders, encoding)) {
    const message = 'send the body uncompressed, or with Content-Encoding: gzip, deflate, br or zstd'
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
  // A pipe does not report that its source broke off, and a pipeline would close the connection with the decoder.
  const gone = (error: Error): void => void decoder.destroy(error)
  payload.once('error', gone)
  let bytes = 0
  try {
    for await (const chunk of payload.pipe(decoder) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > ratioFromBytes && bytes > ratioMax * decoder.bytesWritten) {
        throw new TidemarkError(
          'payload_too_large',
          'the compression ratio of the body is too high: send it uncompressed',
        )
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
