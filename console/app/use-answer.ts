import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ApiError, type Asked, ask, inWords } from './ask.ts'

export interface Question extends Pick<Asked, 'query' | 'body' | 'repeatable'> {
  readonly method?: string
  readonly path: string
}

export interface Answered<Body> {
  /** Null until it is there, and where there is none. */
  readonly body: ReadonlySignal<Body | null>
  /** Why there is none, in words. */
  readonly fault: ReadonlySignal<string | null>
  /** Of the error; null where the server answered otherwise, or not at all. */
  readonly status: ReadonlySignal<number | null>
}

/** What the API says to a question, asked again when the question changes; null asks nothing. */
export function useAnswer<Body>(question: Question | null): Answered<Body> {
  const body = useSignal<Body | null>(null)
  const fault = useSignal<string | null>(null)
  const status = useSignal<number | null>(null)
  useEffect(() => {
    body.value = null
    fault.value = null
    status.value = null
    if (question === null) return
    const newer = new AbortController()
    const { method = 'GET', path, ...rest } = question
    ask<Body>(method, path, { ...rest, signal: newer.signal }).then(
      (answer) => {
        if (!newer.signal.aborted) body.value = answer
      },
      (error: unknown) => {
        if (newer.signal.aborted) return
        status.value = error instanceof ApiError ? error.status : null
        fault.value = inWords(error)
      },
    )
    return () => newer.abort()
  }, [JSON.stringify(question)])
  return { body, fault, status }
}
