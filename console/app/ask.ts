import { signal } from '@preact/signals'
import { credential, refused, type Scheme } from './session.ts'

/** A failed request, with a message that can be shown. */
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

/** Whether the server does not answer at all. One loop asks until it does, and then every waiting request goes on. */
export const isAway = signal(false)
/** Shown in place of missing data while the server is away. */
export const awayWords = 'Waiting for the server …'
/** Until when requests wait after a 429, in milliseconds since the epoch; null if none waits. */
export const waitsUntil = signal<number | null>(null)

/** A reader waits at most this long. A longer wait is reported as an error. */
const waitMaxSeconds = 60
const [pauseMs, pauseMaxMs] = [500, 5_000]

export interface AskOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly as?: Scheme
  /**
   * Whether the request may be sent again if it may have been carried out. Reads may, and so may a search, which is a
   * POST; requests that create something may not.
   */
  readonly repeatable?: boolean
}

/**
 * Sends one request to the API with the credential of the session. Waits when the server says so, and while it is away.
 */
export async function ask<Body>(method: string, path: string, options: AskOptions = {}): Promise<Body> {
  return (await (await askRaw(method, path, options)).json()) as Body
}

/**
 * Reads a file as a range from its start. Only then does it always come from this server and not from a bucket, and the
 * page may connect to this server only.
 */
export async function askFile(path: string, options: AskOptions = {}): Promise<ArrayBuffer> {
  return (await askRaw('GET', path, { ...options, headers: { range: 'bytes=0-' } })).arrayBuffer()
}

/** Like `ask`, for an answer that is empty or not JSON. */
export async function askRaw(method: string, path: string, options: AskOptions = {}): Promise<Response> {
  const { as = 'consumer', repeatable = method === 'GET', signal: until } = options
  for (;;) {
    const key = credential(as).value
    let response: Response
    try {
      response = await fetch(urlOf(path, options.query), requestOf(method, key, options))
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
    // The server refused the request before any work, so any request may be sent again.
    if (error.status !== 429 || after === null || after > waitMaxSeconds) throw error
    await untilTurn(after, until)
  }
}

function urlOf(path: string, query: AskOptions['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
}

function requestOf(method: string, key: string, { body, headers, signal: until }: AskOptions): RequestInit {
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
    // A proxy may have answered with a page of its own.
    return {}
  }
}

let returning: Promise<void> | null = null

export const isThere = async (): Promise<boolean> =>
  (await fetch('/healthz', { cache: 'no-store' }).catch(() => null))?.ok === true

/** One loop asks for all waiting requests, at growing intervals. */
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

/** Returns an error in plain words, with its details; null for a request that a newer one replaced. */
export function inWords(error: unknown): string | null {
  if (error instanceof DOMException && error.name === 'AbortError') return null
  if (error instanceof ApiError) {
    if (error.code === 'quota_exceeded') return `Today's quota is used up: ${error.message}.`
    return sentence(withoutNumber(error.message))
  }
  if (error instanceof TypeError) return 'The server did not respond. The request may or may not have been carried out.'
  return error instanceof Error ? error.message : String(error)
}

/** Removes the index: readers know a list item by its value, not by its number. */
const withoutNumber = (text: string): string => text.replace(/^(\w+)(?:\.\d+)+ /, '$1 ')

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`
