import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { account, readAccount } from '../app/account.ts'
import { callApi, inWords } from '../app/call-api.ts'
import { AsCode } from '../shared/as-code.ts'
import { pathSegment } from '../shared/path-segment.ts'
import { AnalysisTabs } from './analysis-tabs.ts'
import { isUnderWay, type Run, type Subscription, typeWords } from './analysis-types.ts'
import { RunList } from './run-list.ts'
import { parametersInWords, scopeInWords, startsInWords, timeInWords } from './run-words.ts'

const pollMs = 3_000
/** The API lists ended runs, the oldest first. At most this many pages are read to reach the newest ones. */
const pagesMax = 20

/** Lists subscriptions, and the runs that each has started. */
export function SubscriptionsView(): ComponentChild {
  const subscriptions = useSignal<readonly Subscription[] | null>(null)
  const recent = useSignal<readonly Run[]>([])
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async (): Promise<void> => {
      const [listed, { runs }] = await Promise.all([
        callApi<{ subscriptions: readonly Subscription[] }>('GET', '/v1/analysis/subscriptions', {
          query: { limit: 200 },
          signal,
        }),
        callApi<{ runs: readonly Run[] }>('GET', '/v1/analysis/runs', { signal }),
      ])
      signal.throwIfAborted()
      subscriptions.value = listed.subscriptions
      recent.value = runs.filter((run) => run.subscription_id !== null)
      timer = setTimeout(() => read().catch(showError), pollMs)
    }
    const showError = (error: unknown): void => {
      if (!signal.aborted) fault.value = inWords(error)
    }
    read().catch(showError)
    if (account.value === null) readAccount().catch(showError)
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [])

  const toggle = async (one: Subscription): Promise<void> => {
    const step = one.status === 'active' ? 'pause' : 'resume'
    try {
      const changed = await callApi<Subscription>('POST', `${pathOf(one)}/${step}`, { repeatable: true })
      fault.value = null
      subscriptions.value = subscriptions.value!.map((other) =>
        other.subscription_id === changed.subscription_id ? changed : other,
      )
    } catch (error) {
      fault.value = inWords(error)
    }
  }

  return [
    h(
      'div',
      { class: 'view-head', key: 'head' },
      h('h1', null, 'Analysis'),
      h(AsCode, { request: { method: 'GET', path: '/v1/analysis/subscriptions' } }),
    ),
    h(AnalysisTabs, { key: 'tabs', current: 'subscriptions' }),
    fault.value === null ? null : h('p', { class: 'notice bad', role: 'alert', key: 'fault' }, fault.value),
    account.value !== null && !account.value.policy.analysis?.scheduling
      ? h(
          'p',
          { class: 'notice warn', key: 'off' },
          'Subscriptions do not start runs for this application. An operator can allow it (analysis.scheduling in its policy).',
        )
      : null,
    subscriptions.value === null
      ? h('p', { class: 'note', role: 'status', key: 'wait' }, fault.value === null ? 'Loading …' : '')
      : subscriptions.value.length === 0
        ? h(
            'p',
            { class: 'empty', key: 'empty' },
            'No subscriptions yet. ',
            h('a', { href: '/analysis' }, 'Start an analysis'),
            ' and tick “Repeat as a subscription”.',
          )
        : h(
            'ol',
            { class: 'subscriptions', key: 'list' },
            subscriptions.value.map((one) =>
              h(SubscriptionCard, {
                key: one.subscription_id,
                one,
                recent: recent.value.filter(({ subscription_id: id }) => id === one.subscription_id),
                toggle: () => toggle(one),
              }),
            ),
          ),
  ]
}

const pathOf = ({ subscription_id: id }: Subscription): string => `/v1/analysis/subscriptions/${pathSegment(id)}`

const statusWords: Readonly<Record<Subscription['status'], readonly [string, string]>> = {
  active: ['Active', 'good'],
  paused: ['Paused', ''],
  disabled: ['Turned off by an operator', 'bad'],
  reconciliation_required: ['No longer allowed; needs changes', 'bad'],
}

interface CardProps {
  readonly one: Subscription
  /** Those of the newest runs that this subscription started. */
  readonly recent: readonly Run[]
  readonly toggle: () => void
}

function SubscriptionCard({ one, recent, toggle }: CardProps): ComponentChild {
  const underWay = recent.filter(isUnderWay)
  const [words, state] = statusWords[one.status]
  const parameters = parametersInWords(one.parameters)
  return h(
    'li',
    { class: 'card subscription' },
    h(
      'div',
      { class: 'subscription-head' },
      h('h2', { dir: 'auto' }, one.name),
      h('span', { class: 'run-status', 'data-state': state }, words),
      h(
        'button',
        { type: 'button', class: 'button small', onClick: toggle, 'aria-label': `${toggleWord(one)} ${one.name}` },
        toggleWord(one),
      ),
    ),
    h(
      'p',
      { class: 'note', dir: 'auto' },
      `${typeWords[one.analysis_type]?.title ?? one.analysis_type}, ${startsInWords(one)} · ${scopeInWords(one.input_scope)}`,
      parameters === '' ? '' : ` · ${parameters}`,
      ` · since ${timeInWords(one.created_at)}`,
    ),
    underWay.length === 0 ? null : h(RunList, { runs: underWay, label: `In progress: ${one.name}` }),
    h(History, { one, state: recent.map(({ run_id: id, status }) => `${id} ${status}`).join() }),
  )
}

const toggleWord = ({ status }: Subscription): string => (status === 'active' ? 'Pause' : 'Resume')

/** Lists the ended runs, the last first. They are read again when `state`, which describes the newest runs, changes. */
function History({ one, state }: { readonly one: Subscription; readonly state: string }): ComponentChild {
  const runs = useSignal<readonly Run[] | null>(null)
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    readHistory(one, controller.signal).then(
      (found) => {
        runs.value = found
      },
      (error) => {
        if (!controller.signal.aborted) fault.value = inWords(error)
      },
    )
    return () => controller.abort()
  }, [state])
  if (fault.value !== null) return h('p', { class: 'fault', role: 'alert' }, fault.value)
  if (runs.value === null) return null
  if (runs.value.length === 0) return h('p', { class: 'note' }, 'No finished runs yet.')
  return h(RunList, { runs: runs.value, label: `History of ${one.name}` })
}

async function readHistory(one: Subscription, signal: AbortSignal): Promise<readonly Run[]> {
  const found: Run[] = []
  let after: string | undefined
  for (let page = 0; page < pagesMax; page += 1) {
    const { runs, next_cursor: next } = await callApi<{ runs: readonly Run[]; next_cursor: string }>(
      'GET',
      `${pathOf(one)}/runs`,
      { query: { after }, signal },
    )
    found.push(...runs)
    if (runs.length === 0) break
    after = next
  }
  return found.reverse()
}
