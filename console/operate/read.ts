import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type CallOptions, callApi, callApiRaw, inWords } from '../app/call-api.ts'

/** The server's response or error. After `reload`, the old response stays until the new one arrives. */
export interface Read<Body> {
  readonly body: Body | null
  /** The ETag of the response, for `If-Match`; null if it has none. */
  readonly tag: string | null
  readonly fault: string | null
  readonly reload: () => Promise<void>
}

/** A response body with its ETag. */
export interface Tagged<Body> {
  readonly body: Body
  readonly tag: string | null
}

export async function readTagged<Body>(path: string, options: CallOptions = {}): Promise<Tagged<Body>> {
  const answer = await callApiRaw('GET', path, { as: 'admin', ...options })
  return { body: (await answer.json()) as Body, tag: answer.headers.get('etag') }
}

/**
 * Reads from the admin API when the view opens and when the request changes. With `everyMs`, polls at that interval.
 */
export function useRead<Body>(
  path: string,
  query: CallOptions['query'] = {},
  everyMs: number | null = null,
): Read<Body> {
  const found = useSignal<Tagged<Body> | null>(null)
  const fault = useSignal<string | null>(null)
  const request = JSON.stringify([path, query])
  const read = async (signal?: AbortSignal): Promise<void> => {
    try {
      found.value = await readTagged<Body>(path, { query, ...(signal && { signal }) })
      fault.value = null
    } catch (error) {
      fault.value = inWords(error) ?? fault.value
    }
  }
  useEffect(() => {
    const controller = new AbortController()
    repeat(() => read(controller.signal), everyMs, controller.signal)
    return () => controller.abort()
  }, [request])
  const { body = null, tag = null } = found.value ?? {}
  return { body, tag, fault: fault.value, reload: () => read() }
}

/** Runs a step once, or with `everyMs` repeatedly. Steps never overlap, and a hidden page skips them. */
export async function repeat(step: () => Promise<void>, everyMs: number | null, until: AbortSignal): Promise<void> {
  for (;;) {
    if (!document.hidden) await step()
    if (everyMs === null || until.aborted) return
    await new Promise((resolve) => setTimeout(resolve, everyMs))
    if (until.aborted) return
  }
}

/** A list in pages, the newest items first. */
export interface Pages<Item> {
  readonly items: readonly Item[] | null
  readonly fault: string | null
  /** Null if there are no more pages. */
  readonly more: (() => Promise<void>) | null
  /** Reads the first page again. */
  readonly reload: () => Promise<void>
}

/**
 * Reads a list in pages. `name` is the name of the list in the response, and `next_before` continues it. With
 * `everyMs`, the newest page is polled until the reader loads older ones.
 */
export function usePages<Item>(
  path: string,
  name: string,
  query: CallOptions['query'] = {},
  everyMs: number | null = null,
): Pages<Item> {
  const items = useSignal<readonly Item[] | null>(null)
  const next = useSignal<string | null>(null)
  const fault = useSignal<string | null>(null)
  const isExtended = useSignal(false)
  const read = async (before: string | null, signal?: AbortSignal): Promise<void> => {
    try {
      const pageQuery = { ...query, ...(before !== null && { before }) }
      const page = await callApi<Record<string, unknown>>('GET', path, {
        as: 'admin',
        query: pageQuery,
        ...(signal && { signal }),
      })
      const found = page[name] as readonly Item[]
      isExtended.value = before !== null
      items.value = before === null ? found : [...(items.value ?? []), ...found]
      next.value = page.next_before as string | null
      fault.value = null
    } catch (error) {
      fault.value = inWords(error) ?? fault.value
    }
  }
  useEffect(() => {
    const controller = new AbortController()
    items.value = null
    isExtended.value = false
    const look = async (): Promise<void> => {
      if (!isExtended.value) await read(null, controller.signal)
    }
    repeat(look, everyMs, controller.signal)
    return () => controller.abort()
  }, [JSON.stringify([path, query])])
  const { value: after } = next
  return {
    items: items.value,
    fault: fault.value,
    more: after === null ? null : () => read(after),
    reload: () => read(null),
  }
}
