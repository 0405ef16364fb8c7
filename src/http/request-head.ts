import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { credentialKinds } from '../access/credential-kinds.ts'

const wellFormed = /^[A-Za-z0-9._:+/=-]{1,128}$/

/**
 * Keeps a well-formed ID from the caller, so that the caller's logs and ours can be read together. An ID that holds a
 * secret is replaced.
 */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && wellFormed.test(given) && !holdsCredential(given, headers.authorization)
    ? given
    : randomUUID()
}

/**
 * Returns whether the ID contains text in the form of our keys, or the request's own credential, because an admin token
 * may have any form.
 */
function holdsCredential(id: string, authorization: string | undefined): boolean {
  const own = authorization?.slice(authorization.lastIndexOf(' ') + 1) ?? ''
  return Object.values(credentialKinds).some(({ prefix }) => id.includes(prefix)) || (own !== '' && id.includes(own))
}

/**
 * Node keeps the first of these headers and drops the others, or joins them. A proxy in front may have read another one,
 * so a repeated header is refused.
 */
const onlyOnce: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'content-type',
  'content-encoding',
  'idempotency-key',
])
const lengths: ReadonlySet<number> = new Set([...onlyOnce].map((name) => name.length))

/** Returns the fault in the headers of a request, or null. */
export function headerFault({ headers, httpVersion, rawHeaders }: IncomingMessage): string | null {
  if (headers.host === undefined && httpVersion === '1.1') return 'the Host header is missing'
  const { 'transfer-encoding': coding = 'chunked' } = headers
  if (coding.toLowerCase() !== 'chunked') {
    return 'the only supported Transfer-Encoding is chunked: compress a body with Content-Encoding'
  }
  const seen: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!lengths.has(rawHeaders[i]!.length)) continue
    const name = rawHeaders[i]!.toLowerCase()
    if (!onlyOnce.has(name)) continue
    if (seen.includes(name)) return `the ${name} header was sent twice: send it once`
    seen.push(name)
  }
  return null
}

/** Whether all percent-escapes of a path are UTF-8. */
export function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/**
 * Returns an address that the router can decode. The router answers an undecodable path itself, before the credential is
 * checked. The percent signs of such a path are therefore escaped, and admission refuses the original address.
 */
export function routable(url: string): string {
  if (!url.includes('%')) return url
  const [path = ''] = url.split('?', 1)
  return isDecodable(path) ? url : path.replaceAll('%', '%25') + url.slice(path.length)
}

/** Returns the names in a header like `Accept`, in lower case, with their weights from 0 (not accepted) to 1. */
export function acceptedWeights(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const one of header.split(',')) {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    // An invalid weight counts as 0.
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0)
  }
  return weights
}
