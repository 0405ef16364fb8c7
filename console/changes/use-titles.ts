import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ask } from '../app/ask.ts'
import type { ChangeEvent } from './follow-changes.ts'

interface Found {
  readonly documents: readonly {
    readonly id: string
    readonly title?: string | null
    readonly content: { readonly body: string | null } | null
  }[]
  readonly missing: readonly string[]
}

/** While events rush by, titles are asked for at most that often. */
const restMs = 400
const idsMax = 50

/** Events carry ids alone. What those in sight are called is looked up; null for a document that is not there any more. */
export function useTitles() {
  const titles = useSignal<ReadonlyMap<string, string | null>>(new Map())
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const left = useRef(new AbortController())
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      left.current.abort()
    },
    [],
  )
  const look = (events: readonly ChangeEvent[]): void => {
    const ids = [...new Set(events.map(({ document_id }) => document_id))].filter((id) => !titles.value.has(id))
    clearTimeout(timer.current)
    if (ids.length === 0) return
    timer.current = setTimeout(async () => {
      try {
        const body = { document_ids: ids.slice(0, idsMax) }
        const asked = { body, repeatable: true, signal: left.current.signal }
        const { documents, missing } = await ask<Found>('POST', '/v1/documents/batch-get', asked)
        titles.value = new Map([
          ...titles.value,
          ...documents.map(({ id, title, content }) => [id, title?.trim() || beginningOf(content?.body)] as const),
          ...missing.map((id) => [id, null] as const),
        ])
      } catch {
        // Without titles the ids are there still, and what is wrong the feed tells too.
      }
    }, restMs)
  }
  return { titles: titles.value, look }
}

/** A post may have no title: it is known by how it begins. */
const beginningOf = (body: string | null | undefined): string => body?.trim().slice(0, 160) || 'Without a title'
