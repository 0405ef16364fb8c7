import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ApiError, type CallOptions, callApi, inWords } from './call-api.ts'

export interface ApiRequest extends Pick<CallOptions, 'query' | 'body' | 'repeatable'> {
  readonly method?: string
  readonly path: string
}

export interface ApiResponse<Body> {
  /** Null until the response has arrived, and after an error. */
  readonly body: ReadonlySignal<Body | null>
  /** The error in words. */
  readonly fault: ReadonlySignal<string | null>
  /** The status of the error; null if there is none, or if the server did not respond. */
  readonly status: ReadonlySignal<number | null>
}

/** Sends a request to the API, again whenever the request changes. Null sends nothing. */
export function useApi<Body>(question: ApiRequest | null): ApiResponse<Body> {
  const body = useSignal<Body | null>(null)
  const fault = useSignal<string | null>(null)
  const status = useSignal<number | null>(null)
  useEffect(() => {
    body.value = null
    fault.value = null
    status.value = null
    if (question === null) return
    const controller = new AbortController()
    const { method = 'GET', path, ...rest } = question
    callApi<Body>(method, path, { ...rest, signal: controller.signal }).then(
      (answer) => {
        if (!controller.signal.aborted) body.value = answer
      },
      (error: unknown) => {
        if (controller.signal.aborted) return
        status.value = error instanceof ApiError ? error.status : null
        fault.value = inWords(error)
      },
    )
    return () => controller.abort()
  }, [JSON.stringify(question)])
  return { body, fault, status }
}
