import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Asked, ask, askRaw, inWords } from '../app/ask.ts'

/** What the server said, or why it did not; `again` asks once more and keeps what is shown until the answer is there. */
export interface Read<Body> {
  readonly body: Body | null
  /** Names the state that it was in (`If-Match`); null where the answer has none. */
  readonly tag: string | null
  readonly fault: string | null
  readonly again: () => Promise<void>
}

/** An answer with what names its state. */
export interface Tagged<Body> {
  readonly body: Body
  readonly tag: string | null
}

export async function readTagged<Body>(path: string, asked: Asked = {}): Promise<Tagged<Body>> {
  const answer = await askRaw('GET', path, { as: 'admin', ...asked })
  return { body: (await answer.json()) as Body, tag: answer.headers.get('etag') }
}

/** Asks the admin API when the view is opened, and whenever what is asked changes. `everyMs`: and every now and then. */
export function useRead<Body>(path: string, query: Asked['query'] = {}, everyMs: number | null = null): Read<Body> {
  const found = useSignal<Tagged<Body> | null>(null)
  const fault = useSignal<string | null>(null)
  const asked = JSON.stringify([path, query])
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
  }, [asked])
  const { body = null, tag = null } = found.value ?? {}
  return { body, tag, fault: fault.value, again: () => read() }
}

/** Once, or again and again while somebody looks, never twice at a time. */
export async function repeat(step: () => Promise<void>, everyMs: number | null, until: AbortSignal): Promise<void> {
  for (;;) {
    if (!document.hidden) await step()
    if (everyMs === null || until.aborted) return
    await new Promise((resolve) => setTimeout(resolve, everyMs))
    if (until.aborted) return
  }
}

/** A list that comes in pages, newest first. */
export interface Pages<Item> {
  readonly items: readonly Item[] | null
  readonly fault: string | null
  /** Null where there is nothing more. */
  readonly more: (() => Promise<void>) | null
  /** From the beginning. */
  readonly again: () => Promise<void>
}

/**
 * `name` is what the answer calls the list; the next page goes on from `next_before`. `everyMs`: the newest are asked for
 * every now and then, until somebody goes on to older ones.
 */
export function usePages<Item>(
  path: string,
  name: string,
  query: Asked['query'] = {},
  everyMs: number | null = null,
): Pages<Item> {
  const items = useSignal<readonly Item[] | null>(null)
  const next = useSignal<string | null>(null)
  const fault = useSignal<string | null>(null)
  const isExtended = useSignal(false)
  const read = async (before: string | null, signal?: AbortSignal): Promise<void> => {
    try {
      const asked = { ...query, ...(before !== null && { before }) }
      const page = await ask<Record<string, unknown>>('GET', path, {
        as: 'admin',
        query: asked,
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
