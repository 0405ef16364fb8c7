import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ask } from '../app/ask.ts'
import type { Named } from './document-name.ts'

interface Found {
  readonly documents: readonly {
    readonly id: string
    readonly title?: string | null
    readonly content: { readonly body: string | null } | null
  }[]
  readonly missing: readonly string[]
}

/** While rows rush by, names are asked for at most that often. */
const restMs = 400
const idsMax = 50

/** Looks up what documents in sight are called, where a list has their ids alone; null for one that is gone. */
export function useNames() {
  const names = useSignal<ReadonlyMap<string, Named | null>>(new Map())
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const left = useRef(new AbortController())
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      left.current.abort()
    },
    [],
  )
  const look = (wanted: readonly string[]): void => {
    const ids = [...new Set(wanted)].filter((id) => !names.value.has(id))
    clearTimeout(timer.current)
    if (ids.length === 0) return
    timer.current = setTimeout(async () => {
      try {
        const body = { document_ids: ids.slice(0, idsMax) }
        const asked = { body, repeatable: true, signal: left.current.signal }
        const { documents, missing } = await ask<Found>('POST', '/v1/documents/batch-get', asked)
        names.value = new Map<string, Named | null>([
          ...names.value,
          ...documents.map(({ id, title, content }) => [id, { title, body: content?.body }] as const),
          ...missing.map((id) => [id, null] as const),
        ])
      } catch {
        // Without names the rows are there still, and what is wrong the list tells too.
      }
    }, restMs)
  }
  return { names: names.value, look }
}
