import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { addressOf } from '../app/address-of.ts'
import { ApiError, inWords, isUnreachable, waitingWords } from '../app/call-api.ts'
import { icon } from '../app/icons.ts'
import { go } from '../app/router.ts'
import type { ViewProps } from '../app/view-props.ts'
import { AsCode } from '../shared/as-code.ts'
import { CopyButton } from '../shared/copy-button.ts'
import { useNames } from '../shared/use-names.ts'
import { useNarrow } from '../shared/use-narrow.ts'
import { WindowList } from '../shared/window-list.ts'
import { ChangeFilters } from './change-filters.ts'
import { ChangeRow, rowRem } from './change-row.ts'
import { type FeedFilters, feedFiltersOf, parametersOf, queryOf } from './changes-request.ts'
import { counted, EventsPerMinute, type Minutes } from './events-per-minute.ts'
import { type ChangeEvent, followChanges, pageSize } from './follow-changes.ts'
import { inWordsOf, type Newest, noEvents, withNewer } from './newest-events.ts'

/**
 * Shows the feed live, the newest event first. The address has the filters; the cursor has the position in the feed.
 */
export function ChangesView({ place }: ViewProps): ComponentChild {
  const filters = feedFiltersOf(place.query)
  const change = (changes: Partial<FeedFilters>): void =>
    go(addressOf('/changes', parametersOf({ ...filters, ...changes })))
  const isNarrow = useNarrow()
  const feed = useFeed(filters)
  const { names, loadNames } = useNames()
  const { events, waiting, cursor, isPaused, fault, isExpired, minutes, now } = feed
  return h(
    'div',
    null,
    h(
      'div',
      { class: 'view-head' },
      h('h1', null, 'Changes'),
      h(AsCode, {
        request: { method: 'GET', path: addressOf('/v1/changes', { ...feed.query, limit: String(pageSize) }) },
      }),
    ),
    fault === null
      ? null
      : h(
          'div',
          { class: 'notice bad', role: 'alert' },
          h('p', null, fault),
          h(
            'button',
            { type: 'button', class: 'button small', onClick: feed.retry },
            isExpired ? 'Start over' : 'Try again',
          ),
        ),
    h(EventsPerMinute, { minutes, now, isCaughtUp: feed.isCaughtUp }),
    h(
      'div',
      { class: 'changes-bar' },
      h(
        'button',
        {
          type: 'button',
          class: 'button main',
          disabled: fault !== null,
          onClick: isPaused ? feed.resume : feed.pause,
        },
        icon(isPaused ? 'play' : 'pause'),
        isPaused ? 'Resume' : 'Pause',
      ),
      h('span', { class: 'note', role: 'status' }, wordsOf(feed)),
      cursor === null
        ? null
        : h(
            'span',
            { class: 'cursor' },
            h('span', { class: 'note' }, 'Cursor'),
            h('code', null, cursor.length > 24 ? `${cursor.slice(0, 12)} … ${cursor.slice(-8)}` : cursor),
            h(CopyButton, {
              class: 'button small',
              text: () => cursor,
              what: 'the cursor, which continues after the newest event shown',
            }),
          ),
    ),
    h(
      'div',
      { class: 'changes-columns' },
      h(ChangeFilters, { filters, change }),
      h(
        'div',
        { class: 'changes' },
        waiting === 0
          ? null
          : h(
              'button',
              { type: 'button', class: 'button small arrived', onClick: feed.show },
              `${waiting.toLocaleString()} new event${waiting === 1 ? '' : 's'}: show`,
            ),
        h(WindowList<ChangeEvent>, {
          label: 'Events',
          items: events,
          rowRem: rowRem(isNarrow),
          keyOf: ({ event_id }) => event_id,
          row: (event) => h(ChangeRow, { event, name: names.get(event.document_id) }),
          isOpenEnded: true,
          seen: (first, last) => {
            feed.seen(first)
            loadNames(events.slice(first, last).map(({ document_id }) => document_id))
          },
        }),
      ),
    ),
  )
}

function wordsOf({ events, isCut, isPaused, isCaughtUp }: ReturnType<typeof useFeed>): string {
  const shown = inWordsOf({ events, isCut })
  if (isPaused) return `Paused, ${shown}`
  if (isUnreachable.value) return events.length === 0 ? waitingWords : `${waitingWords} ${shown}`
  if (!isCaughtUp) return `Loading, ${shown} so far`
  return events.length === 0 ? 'No events yet. New ones appear here.' : `Waiting for new events, ${shown}`
}

function useFeed(filters: FeedFilters) {
  const shown = useSignal<Newest<ChangeEvent>>(noEvents)
  /**
   * Events that arrived while the reader had scrolled down. They are shown on request, so that rows do not move while
   * they are read.
   */
  const held = useSignal<Newest<ChangeEvent>>(noEvents)
  const cursor = useSignal<string | null>(null)
  const minutes = useSignal<Minutes>(new Map())
  const now = useSignal(Date.now())
  const isPaused = useSignal(false)
  const isCaughtUp = useSignal(false)
  const fault = useSignal<string | null>(null)
  const isExpired = useSignal(false)
  const round = useSignal(0)
  const isDown = useRef(false)
  const key = JSON.stringify(filters)
  const query = useMemo(() => queryOf(filters, Date.now()), [key, round.value])

  useEffect(() => {
    shown.value = noEvents
    held.value = noEvents
    cursor.value = null
    minutes.value = new Map()
    isCaughtUp.value = false
  }, [query])
  useEffect(() => {
    fault.value = null
    isExpired.value = false
    if (isPaused.value) return
    const controller = new AbortController()
    const follow = async (): Promise<void> => {
      for await (const { items, next_cursor } of followChanges(query, cursor.value, controller.signal)) {
        const arrived = { events: items.toReversed(), isCut: false }
        if (isDown.current) held.value = withNewer(arrived, held.value)
        else shown.value = withNewer(arrived, shown.value)
        minutes.value = counted(
          minutes.value,
          items.map(({ ingested_at }) => ingested_at),
        )
        now.value = Date.now()
        cursor.value = next_cursor
        // A page that is not full reaches the end of the feed.
        isCaughtUp.value = items.length < pageSize
      }
    }
    follow().catch((error: unknown) => {
      if (controller.signal.aborted) return
      isExpired.value = error instanceof ApiError && error.status === 410
      fault.value = inWords(error)
    })
    return () => controller.abort()
  }, [query, isPaused.value])
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now()
    }, 10_000)
    return () => clearInterval(timer)
  }, [])

  const show = (): void => {
    shown.value = withNewer(held.value, shown.value)
    held.value = noEvents
  }
  return {
    query,
    ...shown.value,
    waiting: held.value.events.length,
    cursor: cursor.value,
    minutes: minutes.value,
    now: now.value,
    isPaused: isPaused.value,
    isCaughtUp: isCaughtUp.value,
    fault: fault.value,
    isExpired: isExpired.value,
    show: () => {
      show()
      scrollTo({ top: 0, behavior: 'instant' })
    },
    seen: (first: number) => {
      isDown.current = first > 0
      if (first === 0 && held.value.events.length > 0) show()
    },
    pause: () => {
      isPaused.value = true
    },
    resume: () => {
      isPaused.value = false
    },
    retry: () => {
      round.value += 1
    },
  }
}
