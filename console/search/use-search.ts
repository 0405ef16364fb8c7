import { type Signal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { account } from '../app/account.ts'
import { ask, inWords, isAway } from '../app/ask.ts'
import { atTheTop, type KeptPlace, useKeptPlace } from '../app/kept-place.ts'
import { requestOf, type Search, type TimeUnit, unitFor } from './search-request.ts'
import type { Found, Result } from './search-types.ts'
import { isScattered } from './time-span.ts'

/** In milliseconds: longer than a fast typist needs for the next letter, and too short to be noticed. */
const restMs = 120

/** A search with all of its pages that have been read. */
interface Searching {
  /** The request that `found` answers; null while another one is running. */
  answered: string | null
  readonly found: Signal<Found | null>
  readonly more: Signal<readonly Result[]>
  readonly cursor: Signal<string | undefined>
  readonly timeUnit: Signal<TimeUnit>
  readonly fault: Signal<string | null>
  readonly isBusy: Signal<boolean>
  readonly place: KeptPlace
}

/** The last search. A reader who returns from a result finds the same results and the same position. */
let kept: Searching | null = null

export function useSearch(search: Search, isReturn: boolean) {
  const requestOfSearch = ({ timeUnit }: Searching) => {
    const entitlements = account.value?.entitlements ?? []
    const body = requestOf(search, { entitlements, timeUnit: unitFor(search, timeUnit.value) })
    // The next person to sign in does not see the last one's results.
    const request = search.query.trim() === '' ? null : JSON.stringify([account.value?.application_id, body])
    return { body, request }
  }
  const now = useMemo(() => {
    if (!isReturn || kept === null || kept.answered !== requestOfSearch(kept).request) kept = begin()
    return kept
  }, [])
  const { found, more, cursor, timeUnit, fault, isBusy } = now
  const { body, request } = requestOfSearch(now)
  useKeptPlace(now.place)

  useEffect(() => {
    if (request !== null && request === now.answered) return
    now.answered = null
    more.value = []
    cursor.value = undefined
    if (request === null) {
      found.value = null
      fault.value = null
      return
    }
    const newer = new AbortController()
    const timer = setTimeout(async () => {
      isBusy.value = true
      try {
        const answer = await ask<Found>('POST', '/v1/search', { body, signal: newer.signal, repeatable: true })
        if (isScattered(answer.facets?.published_at ?? [])) timeUnit.value = 'month'
        now.answered = request
        found.value = answer
        cursor.value = answer.cursor
        fault.value = null
        isBusy.value = false
      } catch (error) {
        if (newer.signal.aborted) return
        fault.value = inWords(error)
        isBusy.value = false
      }
    }, restMs)
    return () => {
      clearTimeout(timer)
      newer.abort()
    }
  }, [request])

  const readMore = async (): Promise<void> => {
    const at = cursor.value
    if (at === undefined) return
    try {
      const { facets: _, facet_limit: __, ...same } = body
      const answer = await ask<Found>('POST', '/v1/search', { body: { ...same, cursor: at }, repeatable: true })
      // The reader may have typed on in the meantime.
      if (now.answered !== request || cursor.value !== at) return
      more.value = [...more.value, ...answer.results]
      cursor.value = answer.cursor
    } catch (error) {
      fault.value = inWords(error)
    }
  }
  // The last results stay until the new ones arrive, but not while the server is away.
  const shown = isAway.value && now.answered !== request ? null : found.value
  return {
    body,
    isAsked: request !== null,
    found: shown,
    results: [...(shown?.results ?? []), ...more.value],
    hasMore: cursor.value !== undefined,
    timeUnit: unitFor(search, timeUnit.value),
    fault: fault.value,
    isBusy: isBusy.value,
    readMore,
  }
}

const begin = (): Searching => ({
  answered: null,
  found: signal(null),
  more: signal([]),
  cursor: signal(undefined),
  timeUnit: signal('day'),
  fault: signal(null),
  isBusy: signal(false),
  place: atTheTop(),
})
