import { signal } from '@preact/signals'
import { credential, refused, type Scheme } from './session.ts'

/** What a request came to when it was not what was asked for, in words that can be shown. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | null
  readonly details: readonly { readonly path: string; readonly message: string }[]
  readonly retryAfterSeconds: number | null

  constructor(status: number, body: Partial<ErrorBody>, headers: Headers) {
    super(body.message ?? `the server answered with status ${status}`)
    this.status = status
    this.code = body.code ?? 'unknown'
    this.requestId = headers.get('x-request-id')
    this.details = body.details ?? []
    const after = headers.get('retry-after')
    this.retryAfterSeconds = after === null ? null : Number(after)
  }
}

interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly details: ApiError['details']
}

/** The server did not answer at all. It is asked until it does, and everything that waited for it goes on. */
export const isAway = signal(false)
/** What a page says in place of what it does not know while the server is away. */
export const awayWords = 'Waiting for the server …'
/** Until when requests wait because there were too many; null when none does. In milliseconds since the epoch. */
export const waitsUntil = signal<number | null>(null)

/** Somebody who looks at a page waits that long for their turn; what takes longer is told as an error. */
const waitMaxSeconds = 60
const [pauseMs, pauseMaxMs] = [500, 5_000]

export interface Asked {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly as?: Scheme
  /**
   * Whether it may be sent again when nobody knows whether it had been heard. Reading may, and so may a search, which is a
   * POST; what makes something may not.
   */
  readonly repeatable?: boolean
}

/** One request to the API, with the credential of the session. Waits where the server says so, and while it is away. */
export async function ask<Body>(method: string, path: string, asked: Asked = {}): Promise<Body> {
  return (await (await askRaw(method, path, asked)).json()) as Body
}

/**
 * A file. It is asked for as a range from its beginning: only then it always comes from this server, which is all that
 * the page may speak with, and not from a bucket.
 */
export async function askFile(path: string, asked: Asked = {}): Promise<ArrayBuffer> {
  return (await askRaw('GET', path, { ...asked, headers: { range: 'bytes=0-' } })).arrayBuffer()
}

/** The same, for an answer that is no JSON, or empty. */
export async function askRaw(method: string, path: string, asked: Asked = {}): Promise<Response> {
  const { as = 'consumer', repeatable = method === 'GET', signal: until } = asked
  for (;;) {
    const key = credential(as).value
    let response: Response
    try {
      response = await fetch(urlOf(path, asked.query), requestOf(method, key, asked))
    } catch (error) {
      if (until?.aborted || !repeatable) throw error
      await untilBack()
      until?.throwIfAborted()
      continue
    }
    if (response.ok) return response
    const error = new ApiError(response.status, await bodyOf(response), response.headers)
    if (error.status === 401) refused(as, key)
    const { retryAfterSeconds: after } = error
    // Refused before it was looked at, so that any request may be sent again.
    if (error.status !== 429 || after === null || after > waitMaxSeconds) throw error
    await untilTurn(after, until)
  }
}

function urlOf(path: string, query: Asked['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
}

function requestOf(method: string, key: string, { body, headers, signal: until }: Asked): RequestInit {
  return {
    method,
    cache: 'no-store',
    headers: {
      ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(until === undefined ? {} : { signal: until }),
  }
}

async function bodyOf(response: Response): Promise<Partial<ErrorBody>> {
  try {
    return (await response.json()) as Partial<ErrorBody>
  } catch {
    // A proxy in between may answer with a page of its own.
    return {}
  }
}

let returning: Promise<void> | null = null

export const isThere = async (): Promise<boolean> =>
  (await fetch('/healthz', { cache: 'no-store' }).catch(() => null))?.ok === true

/** One asks for all, less and less often. */
export function untilBack(): Promise<void> {
  returning ??= (async () => {
    isAway.value = true
    for (let rest = pauseMs; ; rest = Math.min(pauseMaxMs, rest * 1.5)) {
      await new Promise((resolve) => setTimeout(resolve, rest))
      if (await isThere()) break
    }
    isAway.value = false
    returning = null
  })()
  return returning
}

async function untilTurn(seconds: number, until: AbortSignal | undefined): Promise<void> {
  const end = Date.now() + seconds * 1000
  waitsUntil.value = Math.max(waitsUntil.value ?? 0, end)
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, seconds * 1000)
      until?.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(until.reason)
      })
    })
  } finally {
    if (waitsUntil.value === end) waitsUntil.value = null
  }
}

/** An error in plain words; null for a request that was only given up for a newer one. The message tells its details too. */
export function inWords(error: unknown): string | null {
  if (error instanceof DOMException && error.name === 'AbortError') return null
  if (error instanceof ApiError) {
    if (error.code === 'quota_exceeded') return `Today's quota is used up: ${error.message}.`
    return sentence(withoutNumber(error.message))
  }
  if (error instanceof TypeError) return 'The server did not respond. The request may or may not have been carried out.'
  return error instanceof Error ? error.message : String(error)
}

/** A value of a list is known by what it is, not by its number. */
const withoutNumber = (text: string): string => text.replace(/^(\w+)(?:\.\d+)+ /, '$1 ')

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`
