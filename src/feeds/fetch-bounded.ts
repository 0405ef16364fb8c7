import { lookup } from 'node:dns/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'

/**
 * GET with bounds, for addresses that strangers may have chosen. Name resolution, the check of what came out, and the
 * connection are one step: the socket is opened to the very address that was checked, and every redirect goes through
 * the same door.
 */
export interface FetchBounds {
  /** After decompression, and before. */
  readonly bytesMax: number
  /** From the first name lookup to the last byte, redirects included. */
  readonly timeoutMs: number
  readonly redirectsMax: number
  /** Whether a socket may be opened to an address. */
  readonly allows: (address: string) => boolean
}

export interface Fetched {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** After redirects. */
  readonly url: string
}

/** Why nothing was fetched, as a short word for logs and tests, and as a sentence. */
export class FetchRefused extends Error {
  readonly reason: 'address' | 'size' | 'time' | 'redirects' | 'robots' | 'scheme' | 'network' | 'encoding'
  constructor(reason: FetchRefused['reason'], message: string) {
    super(message)
    this.name = 'FetchRefused'
    this.reason = reason
  }
}

/** The first part is the name that robots.txt files call it by. */
export const userAgent = 'tidemark-feeds/1'

/** `mayGo` is asked before each redirect is followed. */
export async function fetchBounded(
  address: string,
  headers: Readonly<Record<string, string>>,
  bounds: FetchBounds,
  aborted: AbortSignal,
  mayGo: (url: URL) => Promise<boolean> = async () => true,
): Promise<Fetched> {
  const timeout = AbortSignal.timeout(bounds.timeoutMs)
  const signal = AbortSignal.any([timeout, aborted])
  let url = new URL(address)
  try {
    for (let redirects = 0; ; redirects++) {
      const response = await get(url, headers, bounds, signal)
      const { location } = response.headers
      if (![301, 302, 303, 307, 308].includes(response.statusCode!) || location === undefined) {
        const body = await readBody(response, bounds.bytesMax, signal)
        return { status: response.statusCode!, headers: response.headers, body, url: url.href }
      }
      response.destroy()
      if (redirects === bounds.redirectsMax) {
        throw new FetchRefused('redirects', `more than ${bounds.redirectsMax} redirects`)
      }
      const next = URL.parse(location, url)
      if (next === null) throw new FetchRefused('redirects', 'a redirect to something that is no address')
      if (!(await mayGo(next))) throw new FetchRefused('robots', `robots.txt of ${next.host} does not allow it`)
      url = next
    }
  } catch (error) {
    if (error instanceof FetchRefused) throw error
    if (timeout.aborted) throw new FetchRefused('time', `not done within ${bounds.timeoutMs / 1000} seconds`)
    aborted.throwIfAborted()
    throw new FetchRefused('network', (error as Error).message || String((error as NodeJS.ErrnoException).code))
  }
}

async function get(
  url: URL,
  headers: Readonly<Record<string, string>>,
  bounds: FetchBounds,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new FetchRefused('scheme', `${url.protocol} is not fetched`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new FetchRefused('scheme', 'addresses with a user name or password are not fetched')
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const checked = await resolve(host, bounds.allows, signal)
  // The name stays in Host and in the certificate check; only where the socket goes is fixed.
  const fixed: LookupFunction = (_host, options, done) =>
    options.all ? done(null, [checked]) : done(null, checked.address, checked.family)
  return new Promise((resolveResponse, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      url,
      {
        agent: false,
        lookup: fixed,
        signal,
        maxHeaderSize: 16_384,
        headers: { 'user-agent': userAgent, 'accept-encoding': 'gzip, br', ...headers },
      },
      resolveResponse,
    )
    request.once('error', reject)
    request.end()
  })
}

async function resolve(
  host: string,
  allows: FetchBounds['allows'],
  signal: AbortSignal,
): Promise<{ address: string; family: number }> {
  const family = isIP(host)
  const addresses =
    family !== 0 ? [{ address: host, family }] : await untilAborted(lookup(host, { all: true, verbatim: true }), signal)
  const [first] = addresses
  // One inner address among public ones is a sign of a trap, not of a feed.
  if (first === undefined || !addresses.every(({ address }) => allows(address))) {
    throw new FetchRefused('address', `${host} is not an address of the public internet`)
  }
  return first
}

/** The lookup itself cannot be called off; it is no longer waited for. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((done, fail) => {
    const stop = (): void => fail(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(done, fail).finally(() => signal.removeEventListener('abort', stop))
  })
}

async function readBody(response: IncomingMessage, bytesMax: number, signal: AbortSignal): Promise<Buffer> {
  const tooLarge = () => new FetchRefused('size', `larger than ${bytesMax} bytes`)
  if (Number(response.headers['content-length'] ?? 0) > bytesMax) {
    response.destroy()
    throw tooLarge()
  }
  const decoded = decompressed(response)
  const parts: Buffer[] = []
  let raw = 0
  let bytes = 0
  if (decoded !== response) {
    response.on('data', (part: Buffer) => {
      raw += part.length
      if (raw > bytesMax) decoded.destroy(tooLarge())
    })
  }
  const stop = (): void => void decoded.destroy(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const part of decoded) {
      bytes += (part as Buffer).length
      // Stops a small file that unpacks into a large one after the first bytes too many.
      if (bytes > bytesMax) throw tooLarge()
      parts.push(part as Buffer)
    }
  } catch (error) {
    if (
      (error as NodeJS.ErrnoException).code?.startsWith('Z_') ||
      (error as NodeJS.ErrnoException).code?.includes('BROTLI')
    ) {
      throw new FetchRefused('encoding', 'the body is not compressed as it says')
    }
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
    response.destroy()
  }
  return Buffer.concat(parts)
}

function decompressed(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  const decoders: Record<string, () => ReturnType<typeof createGunzip>> = {
    gzip: createGunzip,
    'x-gzip': createGunzip,
    br: createBrotliDecompress,
    deflate: createInflate,
  }
  if (encoding === 'identity' || encoding === '') return response
  const decoder = decoders[encoding]?.()
  if (decoder === undefined) throw new FetchRefused('encoding', `the encoding ${encoding} is not known`)
  response.on('error', (error) => decoder.destroy(error))
  return response.pipe(decoder)
}
