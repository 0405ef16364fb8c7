import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Asked, ask, inWords } from '../app/ask.ts'

/** What the server said, or why it did not; `again` asks once more and keeps what is shown until the answer is there. */
export interface Read<Body> {
  readonly body: Body | null
  readonly fault: string | null
  readonly again: () => Promise<void>
}

/** Asks the admin API when the view is opened, and whenever what is asked changes. `everyMs`: and every now and then. */
export function useRead<Body>(path: string, query: Asked['query'] = {}, everyMs: number | null = null): Read<Body> {
  const body = useSignal<Body | null>(null)
  const fault = useSignal<string | null>(null)
  const asked = JSON.stringify([path, query])
  const read = async (signal?: AbortSignal): Promise<void> => {
    try {
      body.value = await ask<Body>('GET', path, { as: 'admin', query, ...(signal && { signal }) })
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
  return { body: body.value, fault: fault.value, again: () => read() }
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
