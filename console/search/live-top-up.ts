import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { account } from '../app/account.ts'
import { callApi, inWords } from '../app/call-api.ts'
import { ResultCard } from './result-card.ts'
import type { Search } from './search-request.ts'
import type { Found, LiveQuery, Result } from './search-types.ts'

const [pollMs, pollMaxMs] = [1_000, 5_000]
const platformsMax = 5

/** Returns what the reader must still do before a live query can start; null if it can start. */
function missingFor({ query, lists }: Search): string | null {
  if (query.trim() === '') return 'To collect live, type a query.'
  if (lists.datasets.length !== 1) return 'To collect live, choose one dataset in the filters.'
  if (lists.platforms.length === 0) return 'To collect live, choose one to five platforms in the filters.'
  return lists.platforms.length > platformsMax ? 'To collect live, choose at most five platforms.' : null
}

/** Starts a live query, which makes collectors fetch documents, and polls it until it has ended. */
export function LiveTopUp({ search }: { readonly search: Search }): ComponentChild {
  const live = useSignal<LiveQuery | null>(null)
  const results = useSignal<readonly Result[]>([])
  const fault = useSignal<string | null>(null)
  const controller = useRef<AbortController | null>(null)
  useEffect(() => () => controller.current?.abort(), [])
  if (!account.value?.policy.live?.enabled) return null
  const missing = missingFor(search)
  const start = async (): Promise<void> => {
    controller.current?.abort()
    controller.current = new AbortController()
    const { signal } = controller.current
    fault.value = null
    results.value = []
    try {
      live.value = await startLiveQuery(search, signal)
      for (let delayMs = pollMs; isUnderWay(live.value); delayMs = Math.min(pollMaxMs, delayMs * 1.3)) {
        await pause(delayMs, signal)
        live.value = await callApi<LiveQuery>('GET', `/v1/live-queries/${live.value.id}`, { signal })
      }
      const read = await callApi<{ results: readonly Result[] }>('GET', `/v1/live-queries/${live.value.id}/results`, {
        signal,
      })
      results.value = read.results
    } catch (error) {
      fault.value = inWords(error)
    }
  }
  const isBusy = live.value !== null && isUnderWay(live.value) && fault.value === null
  return h(
    'section',
    { class: 'live-top-up', 'aria-label': 'Live collection' },
    h(
      'div',
      { class: 'live-head' },
      h(
        'button',
        { type: 'button', class: 'button small', disabled: missing !== null || isBusy, onClick: start },
        isBusy ? 'Collecting …' : 'Collect live',
      ),
      h('span', { class: 'note', role: 'status' }, missing ?? wordsOf(live.value, results.value.length)),
    ),
    fault.value === null ? null : h('p', { class: 'notice bad', role: 'alert' }, fault.value),
    results.value.map((result) => h(ResultCard, { key: result.document_id, result, best: 0 })),
  )
}

const isUnderWay = ({ status }: LiveQuery): boolean => status === 'pending' || status === 'running'

async function startLiveQuery(search: Search, signal: AbortSignal): Promise<LiveQuery> {
  const { live_query: started } = await callApi<Found>('POST', '/v1/search', {
    headers: { 'idempotency-key': newKey() },
    body: {
      query: search.query,
      mode: 'keyword',
      datasets: search.lists.datasets,
      platforms: search.lists.platforms,
      limit: 1,
      live: { enabled: true, resource_kind: 'content' },
    },
    signal,
  })
  if (started === null)
    throw new Error('Live collection could not start: no collector is connected for these platforms.')
  return started
}

/** Returns a random idempotency key. Browsers have `crypto.randomUUID` on secure origins only. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('')

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

const statusWords: Readonly<Record<LiveQuery['status'], string>> = {
  pending: 'Waiting for a collector.',
  running: 'A collector is working on it.',
  completed: 'Done',
  partial: 'Partly done',
  failed: 'Failed',
}

function wordsOf(live: LiveQuery | null, received: number): string {
  if (live === null) return 'Makes collectors fetch documents that are not here yet.'
  const runs = live.runs.map(
    ({ platform, status, items, error }) => `${platform}: ${status}, ${items}${error ? ` (${error.message})` : ''}`,
  )
  const end = isUnderWay(live)
    ? statusWords[live.status]
    : `${statusWords[live.status]}: ${received} document${received === 1 ? '' : 's'}.`
  return `${end} ${runs.join('; ')}`
}
