import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect, useId } from 'preact/hooks'
import { type AnalysisType, typeWords } from '../analysis/analysis-types.ts'
import { type Account, account, readAccount } from '../app/account.ts'
import { inWords } from '../app/call-api.ts'
import { AsCode } from '../shared/as-code.ts'
import { momentInWords } from '../shared/words-of-time.ts'
import { entitlementInWords } from './entitlement-words.ts'
import { WhyHidden } from './why-hidden.ts'

/** Shows what the signed-in application may read and do, and what it has used today. */
export function AccountView(): ComponentChild {
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    readAccount().catch((error) => {
      fault.value = inWords(error)
    })
  }, [])
  const known = account.value
  return [
    h(
      'div',
      { class: 'view-head', key: 'head' },
      h('h1', { dir: 'auto' }, known?.name ?? 'Account'),
      h(AsCode, { request: { method: 'GET', path: '/v1/account' } }),
    ),
    fault.value === null ? null : h('p', { class: 'notice bad', role: 'alert', key: 'fault' }, fault.value),
    known === null
      ? h('p', { class: 'empty', role: 'status', key: 'none' }, fault.value === null ? 'Loading …' : '')
      : h(Known, { known, key: 'known' }),
  ]
}

function Known({ known }: { readonly known: Account }): ComponentChild {
  return h(
    'div',
    { class: 'account' },
    h(
      'div',
      null,
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'may-read' },
        h('h2', { id: 'may-read' }, 'Access'),
        known.entitlements.length === 0
          ? h('p', null, 'No entitlements yet: this application can read nothing. An operator grants them.')
          : h(
              'ol',
              { class: 'entitlements' },
              known.entitlements.map((entry) =>
                h('li', { key: entry.entitlement_id, dir: 'auto' }, entitlementInWords(entry)),
              ),
            ),
        known.entitlements.length > 1
          ? h('p', { class: 'note' }, 'A document is readable if it matches one entry in full.')
          : null,
        h(Times, { known }),
      ),
      h(WhyHidden, { entitlements: known.entitlements }),
    ),
    h(Limits, { known }),
  )
}

function Times({ known }: { readonly known: Account }): ComponentChild {
  const times = [
    ['First document ingested', known.earliest_ingested_at],
    ['Latest document ingested', known.latest_ingested_at],
    ['Change feed starts at', known.feed_retained_from],
  ] as const
  return h(
    'dl',
    { class: 'facts' },
    times.map(([name, time]) =>
      h('div', { key: name }, h('dt', null, name), h('dd', null, time === null ? 'none yet' : momentInWords(time))),
    ),
    h(
      'div',
      null,
      h('dt', null, 'Embedding profiles'),
      h(
        'dd',
        null,
        known.embedding_profiles.map(({ id, is_default }) => `${id}${is_default ? ' (default)' : ''}`).join(', ') ||
          'none',
      ),
    ),
  )
}

/** The title of each quota, and the operations that it counts. */
const quotas: Readonly<Record<string, readonly [name: string, operations: readonly string[]]>> = {
  search: ['Search', ['search.default', 'search.contents']],
  search_history: ['History search', ['search.history']],
  search_keyword: ['Keyword search', ['search.keyword']],
  search_vector: ['Vector search', ['search.vector']],
  search_hybrid: ['Hybrid search', ['search.hybrid']],
  changes: ['Change feed', ['changes.read']],
  export: ['Export', ['export.read']],
}

function Limits({ known: { policy, usage } }: { readonly known: Account }): ComponentChild {
  const limited = Object.entries(policy.daily_quotas ?? {}).filter(([, most]) => typeof most === 'number')
  const counted = Object.entries(usage.operations).toSorted(([, a], [, b]) => b - a)
  const total = counted.reduce((sum, [, count]) => sum + count, 0)
  const analysis = policy.analysis_enabled
    ? [
        ...(policy.analysis?.types ?? ['knn_graph']).map((type) => typeWords[type as AnalysisType]?.title ?? type),
        ...(policy.analysis?.scheduling ? ['subscriptions'] : []),
      ].join(', ')
    : 'off'
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'limits' },
    h('h2', { id: 'limits' }, 'Limits and usage'),
    h(
      'dl',
      { class: 'facts' },
      [
        ['Requests', `${policy.requests_per_second} per second, bursts of ${policy.burst}`],
        ['Concurrent requests', `${policy.max_in_flight}`],
        ['Analysis', analysis],
        ['Live collection', policy.live?.enabled ? 'on' : 'off'],
      ].map(([name, value]) => h('div', { key: name }, h('dt', null, name), h('dd', null, value))),
    ),
    limited.map(([name, most]) => {
      const [title, operations] = quotas[name] ?? [name, []]
      const used = operations.reduce((sum, operation) => sum + (usage.operations[operation] ?? 0), 0)
      return h(Meter, { key: name, title, used, most: Number(most) })
    }),
    limited.length === 0 ? h('p', { class: 'note' }, 'No daily quotas.') : null,
    h('h3', null, `Today, ${usage.day} (UTC): ${total.toLocaleString()} request${total === 1 ? '' : 's'}`),
    counted.length === 0
      ? h('p', { class: 'note' }, 'No requests yet.')
      : h(
          'ul',
          { class: 'used' },
          counted.map(([operation, count]) =>
            h(
              'li',
              { key: operation },
              h('code', null, operation),
              h('span', { class: 'used-count' }, count.toLocaleString()),
            ),
          ),
        ),
  )
}

function Meter({
  title,
  used,
  most,
}: {
  readonly title: string
  readonly used: number
  readonly most: number
}): ComponentChild {
  const id = useId()
  const state = used >= most ? 'bad' : used >= 0.8 * most ? 'warn' : 'good'
  return h(
    'div',
    { class: 'quota', 'data-state': state },
    h('label', { for: id }, title),
    h('span', null, `${used.toLocaleString()} of ${most.toLocaleString()} today`),
    h('progress', { id, max: Math.max(most, 1), value: Math.min(used, most) }),
  )
}
