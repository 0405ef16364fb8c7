import { lookup } from 'node:dns/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { readBounded, TooLarge } from './read-bounded.ts'
import { withDeadline } from './with-deadline.ts'

export interface FetchLimits {
  /** Applies before and after decompression. */
  readonly bytesMax: number
  /** From the first name lookup to the last byte, redirects included. */
  readonly timeoutMs: number
  readonly redirectsMax: number
  /** Whether a socket may be opened to an address. */
  readonly allows: (address: string) => boolean
}

export interface FetchedFile {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** The address after redirects. */
  readonly url: string
}

/** Why nothing was fetched: `reason` is a short word for logs and tests, the message a phrase. */
export class FetchRefused extends Error {
  readonly reason: 'address' | 'size' | 'time' | 'redirects' | 'scheme' | 'network' | 'encoding'
  constructor(reason: FetchRefused['reason'], message: string) {
    super(message)
    this.name = 'FetchRefused'
    this.reason = reason
  }
}

/**
 * Sends a GET request within limits, to an address that an untrusted person may have chosen. Against SSRF and DNS
 * rebinding, the socket is opened to exactly the IP address that was resolved and checked. Every redirect is checked in
 * the same way. Calls `beforeRedirect` before following each redirect; an error that it throws ends the fetch.
 */
export async function fetchWithLimits(
  address: string,
  headers: Readonly<Record<string, string>>,
  limits: FetchLimits,
  aborted: AbortSignal,
  beforeRedirect: (url: URL) => Promise<void> = async () => {},
): Promise<FetchedFile> {
  return withDeadline(limits.timeoutMs, aborted, async (signal) => {
    let url = new URL(address)
    for (let redirects = 0; ; redirects++) {
      const fetched = await fetchOnce(url, headers, limits, signal, aborted)
      if (!(fetched instanceof URL)) return fetched
      if (redirects === limits.redirectsMax) {
        throw new FetchRefused('redirects', `more than ${limits.redirectsMax} redirects`)
      }
      await beforeRedirect(fetched)
      url = fetched
    }
  })
}

/** Returns the response, or the target of a redirect. */
async function fetchOnce(
  url: URL,
  headers: Readonly<Record<string, string>>,
  limits: FetchLimits,
  signal: AbortSignal,
  aborted: AbortSignal,
): Promise<FetchedFile | URL> {
  try {
    const response = await get(url, headers, limits, signal)
    const { location } = response.headers
    if (![301, 302, 303, 307, 308].includes(response.statusCode!) || location === undefined) {
      const body = await readBody(response, limits.bytesMax, signal)
      return { status: response.statusCode!, headers: response.headers, body, url: url.href }
    }
    response.destroy()
    const next = URL.parse(location, url)
    if (next === null) throw new FetchRefused('redirects', 'a redirect to an invalid address')
    return next
  } catch (error) {
    if (error instanceof FetchRefused) throw error
    aborted.throwIfAborted()
    if (signal.aborted) throw new FetchRefused('time', `not completed within ${limits.timeoutMs / 1000} seconds`)
    if (error instanceof TooLarge) throw new FetchRefused('size', error.message)
    throw new FetchRefused('network', (error as Error).message || String((error as NodeJS.ErrnoException).code))
  }
}

async function get(
  url: URL,
  headers: Readonly<Record<string, string>>,
  limits: FetchLimits,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new FetchRefused('scheme', `${url.protocol} addresses are not supported`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new FetchRefused('scheme', 'addresses with a user name or password are not supported')
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const checked = await resolve(host, limits.allows, signal)
  // The host name is still used in the Host header and the certificate check. Only the IP address is fixed.
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
        headers: { 'accept-encoding': 'gzip, br', ...headers },
      },
      resolveResponse,
    )
    request.once('error', reject)
    request.end()
  })
}

async function resolve(
  host: string,
  allows: FetchLimits['allows'],
  signal: AbortSignal,
): Promise<{ address: string; family: number }> {
  const family = isIP(host)
  const addresses =
    family !== 0 ? [{ address: host, family }] : await untilAborted(lookup(host, { all: true, verbatim: true }), signal)
  const [first] = addresses
  // A name with public and private addresses is a sign of an attack, so one private address is enough to refuse it.
  if (first === undefined || !addresses.every(({ address }) => allows(address))) {
    throw new FetchRefused('address', `${host} is not an address of the public internet`)
  }
  return first
}

/** A lookup cannot be cancelled; this only stops waiting for it. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((done, fail) => {
    const stop = (): void => fail(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(done, fail).finally(() => signal.removeEventListener('abort', stop))
  })
}

async function readBody(response: IncomingMessage, bytesMax: number, signal: AbortSignal): Promise<Buffer> {
  const decoded = decompressed(response)
  if (decoded !== response) {
    let raw = 0
    response.on('data', (part: Buffer) => {
      raw += part.length
      if (raw > bytesMax) decoded.destroy(new TooLarge(bytesMax))
    })
  }
  const stop = (): void => void decoded.destroy(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    // The limit applies to the decompressed size, so a small file that expands to a large one is cut off early.
    return await readBounded(decoded, bytesMax, response.headers['content-length'])
  } catch (error) {
    if (
      (error as NodeJS.ErrnoException).code?.startsWith('Z_') ||
      (error as NodeJS.ErrnoException).code?.includes('BROTLI')
    ) {
      throw new FetchRefused('encoding', 'the body cannot be decompressed with its content encoding')
    }
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
    response.destroy()
  }
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
  if (decoder === undefined) throw new FetchRefused('encoding', `the content encoding ${encoding} is not supported`)
  response.on('error', (error) => decoder.destroy(error))
  return response.pipe(decoder)
}
