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

/**
 * Whether the server does not respond. One loop polls it until it does, and then every waiting request is sent again.
 */
export const isUnreachable = signal(false)
/** Shown in place of missing data while the server is unreachable. */
export const waitingWords = 'Waiting for the server …'
/** The end of the longest wait after a 429, in milliseconds since the epoch; null if no request waits. */
export const throttledUntil = signal<number | null>(null)

/** Longer waits are reported as errors. */
const waitMaxSeconds = 60
const [pauseMs, pauseMaxMs] = [500, 5_000]

export interface CallOptions {
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
 * Sends one request to the API with the credential of the session. Waits if the server asks it to (429), and retries a
 * repeatable request while the server is unreachable.
 */
export async function callApi<Body>(method: string, path: string, options: CallOptions = {}): Promise<Body> {
  return (await (await callApiRaw(method, path, options)).json()) as Body
}

/**
 * Downloads a file. The request has a range, because the server answers others with a redirect to the bucket if it has
 * one, and the content policy lets the page connect to this server only.
 */
export async function downloadFile(path: string, options: CallOptions = {}): Promise<ArrayBuffer> {
  return (await callApiRaw('GET', path, { ...options, headers: { range: 'bytes=0-' } })).arrayBuffer()
}

/** Like `callApi`, for a response that is empty or not JSON. */
export async function callApiRaw(method: string, path: string, options: CallOptions = {}): Promise<Response> {
  const { as = 'consumer', repeatable = method === 'GET', signal: until } = options
  for (;;) {
    const key = credential(as).value
    let response: Response
    try {
      response = await fetch(urlOf(path, options.query), requestOf(method, key, options))
    } catch (error) {
      if (until?.aborted || !repeatable) throw error
      await untilReachable()
      until?.throwIfAborted()
      continue
    }
    if (response.ok) return response
    const error = new ApiError(response.status, await bodyOf(response), response.headers)
    if (error.status === 401) refused(as, key)
    const { retryAfterSeconds: after } = error
    // The server has refused the request before doing any work, so any request may be sent again.
    if (error.status !== 429 || after === null || after > waitMaxSeconds) throw error
    await waitToRetry(after, until)
  }
}

function urlOf(path: string, query: CallOptions['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
}

function requestOf(method: string, key: string, { body, headers, signal: until }: CallOptions): RequestInit {
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
    // The response may come from a proxy, with a page of its own.
    return {}
  }
}

let returning: Promise<void> | null = null

export const isReachable = async (): Promise<boolean> =>
  (await fetch('/healthz', { cache: 'no-store' }).catch(() => null))?.ok === true

/** Waits until the server responds. One loop polls for all waiting requests, at growing intervals. */
export function untilReachable(): Promise<void> {
  returning ??= (async () => {
    isUnreachable.value = true
    for (let delayMs = pauseMs; ; delayMs = Math.min(pauseMaxMs, delayMs * 1.5)) {
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      if (await isReachable()) break
    }
    isUnreachable.value = false
    returning = null
  })()
  return returning
}

async function waitToRetry(seconds: number, until: AbortSignal | undefined): Promise<void> {
  const end = Date.now() + seconds * 1000
  throttledUntil.value = Math.max(throttledUntil.value ?? 0, end)
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, seconds * 1000)
      until?.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(until.reason)
      })
    })
  } finally {
    if (throttledUntil.value === end) throttledUntil.value = null
  }
}

/** Returns an error in plain words; null for a request that was aborted. */
export function inWords(error: unknown): string | null {
  if (error instanceof DOMException && error.name === 'AbortError') return null
  if (error instanceof ApiError) {
    if (error.code === 'quota_exceeded') return `Today's quota is used up: ${error.message}.`
    return sentence(withoutNumber(error.message))
  }
  if (error instanceof TypeError) return 'The server did not respond. The request may or may not have been carried out.'
  return error instanceof Error ? error.message : String(error)
}

/** Removes the index of a list item from the path in a message, because readers know items by their values. */
const withoutNumber = (text: string): string => text.replace(/^(\w+)(?:\.\d+)+ /, '$1 ')

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`
