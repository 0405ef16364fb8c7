import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ApiError, type AskOptions, ask, inWords } from './ask.ts'

export interface Question extends Pick<AskOptions, 'query' | 'body' | 'repeatable'> {
  readonly method?: string
  readonly path: string
}

export interface Answered<Body> {
  /** Null until an answer has come, and after an error. */
  readonly body: ReadonlySignal<Body | null>
  /** The error in words. */
  readonly fault: ReadonlySignal<string | null>
  /** The status of the error; null if there is none, or if the server did not answer. */
  readonly status: ReadonlySignal<number | null>
}

/** Reads from the API, again whenever the question changes. Null reads nothing. */
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
