import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { callApi } from '../app/call-api.ts'
import type { Named } from './document-name.ts'

interface Found {
  readonly documents: readonly {
    readonly id: string
    readonly title?: string | null
    readonly content: { readonly body: string | null } | null
  }[]
  readonly missing: readonly string[]
}

/** Names are requested when the visible rows have not changed for this long. */
const debounceMs = 400
const idsMax = 50

/** Reads the names of documents for a list that has only their IDs. The name of a deleted document is null. */
export function useNames() {
  const names = useSignal<ReadonlyMap<string, Named | null>>(new Map())
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const controller = useRef(new AbortController())
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      controller.current.abort()
    },
    [],
  )
  const loadNames = (requested: readonly string[]): void => {
    const ids = [...new Set(requested)].filter((id) => !names.value.has(id))
    clearTimeout(timer.current)
    if (ids.length === 0) return
    timer.current = setTimeout(async () => {
      try {
        const body = { document_ids: ids.slice(0, idsMax) }
        const options = { body, repeatable: true, signal: controller.current.signal }
        const { documents, missing } = await callApi<Found>('POST', '/v1/documents/batch-get', options)
        names.value = new Map<string, Named | null>([
          ...names.value,
          ...documents.map(({ id, title, content }) => [id, { title, body: content?.body }] as const),
          ...missing.map((id) => [id, null] as const),
        ])
      } catch {
        // The rows work without names, and the list itself shows errors.
      }
    }, debounceMs)
  }
  return { names: names.value, loadNames }
}
