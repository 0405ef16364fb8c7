import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type AskOptions, ask, askRaw, inWords } from '../app/ask.ts'

/** The server's answer or error. `again` reads once more, and the old answer stays until the new one arrives. */
export interface Read<Body> {
  readonly body: Body | null
  /** The ETag of the answer, for `If-Match`; null if it has none. */
  readonly tag: string | null
  readonly fault: string | null
  readonly again: () => Promise<void>
}

/** An answer with its ETag. */
export interface Tagged<Body> {
  readonly body: Body
  readonly tag: string | null
}

export async function readTagged<Body>(path: string, options: AskOptions = {}): Promise<Tagged<Body>> {
  const answer = await askRaw('GET', path, { as: 'admin', ...options })
  return { body: (await answer.json()) as Body, tag: answer.headers.get('etag') }
}

/**
 * Reads from the admin API when the view opens and when the request changes, and also at the interval `everyMs`, if
 * given.
 */
export function useRead<Body>(
  path: string,
  query: AskOptions['query'] = {},
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
    const leaving = new AbortController()
    repeat(() => read(leaving.signal), everyMs, leaving.signal)
    return () => leaving.abort()
  }, [request])
  const { body = null, tag = null } = found.value ?? {}
  return { body, tag, fault: fault.value, again: () => read() }
}

/** Runs a step once, or at an interval while the page is visible, never two at a time. */
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
  /** Reads from the beginning. */
  readonly again: () => Promise<void>
}

/**
 * `name` is the name of the list in the answer; `next_before` continues it. With `everyMs`, the newest page is polled
 * until the reader loads older ones.
 */
export function usePages<Item>(
  path: string,
  name: string,
  query: AskOptions['query'] = {},
  everyMs: number | null = null,
): Pages<Item> {
  const items = useSignal<readonly Item[] | null>(null)
  const next = useSignal<string | null>(null)
  const fault = useSignal<string | null>(null)
  const isExtended = useSignal(false)
  const read = async (before: string | null, signal?: AbortSignal): Promise<void> => {
    try {
      const pageQuery = { ...query, ...(before !== null && { before }) }
      const page = await ask<Record<string, unknown>>('GET', path, {
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
    const leaving = new AbortController()
    items.value = null
    isExtended.value = false
    const look = async (): Promise<void> => {
      if (!isExtended.value) await read(null, leaving.signal)
    }
    repeat(look, everyMs, leaving.signal)
    return () => leaving.abort()
  }, [JSON.stringify([path, query])])
  const { value: after } = next
  return {
    items: items.value,
    fault: fault.value,
    more: after === null ? null : () => read(after),
    again: () => read(null),
  }
}
