import { type Signal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { account } from '../app/account.ts'
import { callApi, inWords, isUnreachable } from '../app/call-api.ts'
import { atTop, type SavedPosition, useSavedPosition } from '../app/saved-position.ts'
import { requestOf, type Search, type TimeUnit, unitFor } from './search-request.ts'
import type { Found, Result } from './search-types.ts'
import { isScattered } from './time-span.ts'

/** Longer than a fast typist needs for the next letter, and too short to be noticed. */
const debounceMs = 120

/** A search and the pages that have been read. */
interface SearchState {
  /** The request whose response is `found`; null while another request is running. */
  answeredRequest: string | null
  readonly found: Signal<Found | null>
  readonly more: Signal<readonly Result[]>
  readonly cursor: Signal<string | undefined>
  readonly timeUnit: Signal<TimeUnit>
  readonly fault: Signal<string | null>
  readonly isBusy: Signal<boolean>
  readonly position: SavedPosition
}

/** The last search, kept for a reader who returns from a document to the same results and scroll position. */
let lastSearch: SearchState | null = null

export function useSearch(search: Search, isReturn: boolean) {
  const requestOfSearch = ({ timeUnit }: SearchState) => {
    const entitlements = account.value?.entitlements ?? []
    const body = requestOf(search, { entitlements, timeUnit: unitFor(search, timeUnit.value) })
    // Includes the application, so that the next person to sign in does not see the last one's results.
    const request = search.query.trim() === '' ? null : JSON.stringify([account.value?.application_id, body])
    return { body, request }
  }
  const now = useMemo(() => {
    if (!isReturn || lastSearch === null || lastSearch.answeredRequest !== requestOfSearch(lastSearch).request)
      lastSearch = newState()
    return lastSearch
  }, [])
  const { found, more, cursor, timeUnit, fault, isBusy } = now
  const { body, request } = requestOfSearch(now)
  useSavedPosition(now.position)

  useEffect(() => {
    if (request !== null && request === now.answeredRequest) return
    now.answeredRequest = null
    more.value = []
    cursor.value = undefined
    if (request === null) {
      found.value = null
      fault.value = null
      return
    }
    const controller = new AbortController()
    const timer = setTimeout(async () => {
      isBusy.value = true
      try {
        const answer = await callApi<Found>('POST', '/v1/search', { body, signal: controller.signal, repeatable: true })
        if (isScattered(answer.facets?.published_at ?? [])) timeUnit.value = 'month'
        now.answeredRequest = request
        found.value = answer
        cursor.value = answer.cursor
        fault.value = null
        isBusy.value = false
      } catch (error) {
        if (controller.signal.aborted) return
        fault.value = inWords(error)
        isBusy.value = false
      }
    }, debounceMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [request])

  const readMore = async (): Promise<void> => {
    const at = cursor.value
    if (at === undefined) return
    try {
      const { facets: _, facet_limit: __, ...same } = body
      const answer = await callApi<Found>('POST', '/v1/search', { body: { ...same, cursor: at }, repeatable: true })
      // The reader may have changed the query in the meantime.
      if (now.answeredRequest !== request || cursor.value !== at) return
      more.value = [...more.value, ...answer.results]
      cursor.value = answer.cursor
    } catch (error) {
      fault.value = inWords(error)
    }
  }
  // The last results stay until the new ones arrive, but not while the server is unreachable.
  const shown = isUnreachable.value && now.answeredRequest !== request ? null : found.value
  return {
    body,
    hasQuery: request !== null,
    found: shown,
    results: [...(shown?.results ?? []), ...more.value],
    hasMore: cursor.value !== undefined,
    timeUnit: unitFor(search, timeUnit.value),
    fault: fault.value,
    isBusy: isBusy.value,
    readMore,
  }
}

const newState = (): SearchState => ({
  answeredRequest: null,
  found: signal(null),
  more: signal([]),
  cursor: signal(undefined),
  timeUnit: signal('day'),
  fault: signal(null),
  isBusy: signal(false),
  position: atTop(),
})
