import { type ComponentChild, Fragment, h } from 'preact'
import { addressOf } from '../app/address-of.ts'
import { go } from '../app/router.ts'
import type { ViewProps } from '../app/view-props.ts'
import { dayInWords } from '../shared/words-of-time.ts'
import { ApplicationLink, useApplicationNames } from './application-names.ts'
import { Head } from './head.ts'
import { ListStatus } from './list-status.ts'
import { useRead } from './read.ts'
import { Table } from './table.ts'
import { byDay, type Usage, usageByApplication } from './usage-by-day.ts'
import { count } from './words.ts'

const spans = [7, 30, 90] as const
const dayMs = 86_400_000
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

interface Row {
  readonly applicationId: string
  readonly requests: number
  readonly operations: readonly (readonly [operation: string, used: number])[]
}

/** Shows requests by day, and by application and operation. */
export function UsageView({ place }: ViewProps): ComponentChild {
  const days = spans.find((one) => String(one) === place.query.get('days')) ?? spans[0]
  const only = place.query.get('application') ?? ''
  const range = { from_day: dayOf(Date.now() - (days - 1) * dayMs), to_day: dayOf(Date.now()) }
  const { body, fault } = useRead<{ usage: readonly Usage[] }>('/admin/v1/usage', { ...range, application_id: only })
  const names = useApplicationNames()
  const usage = body?.usage ?? []
  const rows = usageByApplication(usage)
  const to = (changed: { readonly days?: string; readonly application?: string }): void =>
    go(addressOf('/operate/usage', { days: String(days), application: only, ...changed }))
  return h(
    Fragment,
    null,
    h(Head, { title: 'Usage', path: addressOf('/admin/v1/usage', { ...range, application_id: only }) }),
    h(
      'div',
      { class: 'filters' },
      h(
        'label',
        null,
        'Period',
        h(
          'select',
          {
            value: String(days),
            onChange: (event: Event) => to({ days: (event.currentTarget as HTMLSelectElement).value }),
          },
          spans.map((one) => h('option', { key: one, value: String(one) }, `Last ${one} days`)),
        ),
      ),
      h(
        'label',
        null,
        'Application',
        h(
          'select',
          {
            value: only,
            onChange: (event: Event) => to({ application: (event.currentTarget as HTMLSelectElement).value }),
          },
          h('option', { value: '' }, 'All'),
          [...names].map(([id, name]) => h('option', { key: id, value: id }, name)),
        ),
      ),
    ),
    h(ListStatus, { fault, isKnown: body !== null, isEmpty: usage.length === 0 }, 'No requests in this period.'),
    usage.length === 0
      ? null
      : [
          h(Days, { key: 'days', days: byDay(usage, range.from_day, range.to_day) }),
          h(Table<Row>, {
            key: 'table',
            label: 'Requests by application',
            keyOf: ({ applicationId }) => applicationId,
            rows,
            columns: [
              {
                title: 'Application',
                cell: ({ applicationId }) => h(ApplicationLink, { id: applicationId, names }),
              },
              { title: 'Requests', isNumber: true, cell: ({ requests }) => count(requests) },
              { title: 'Breakdown', cell: ({ operations }) => h(Operations, { operations }) },
            ],
          }),
        ],
  )
}

function Operations({ operations }: Pick<Row, 'operations'>): ComponentChild {
  return h(
    'ul',
    { class: 'used' },
    operations.map(([operation, used]) => h('li', { key: operation }, h('code', null, operation), ` ${count(used)}`)),
  )
}

function Days({ days }: { readonly days: readonly (readonly [day: string, used: number])[] }): ComponentChild {
  const most = Math.max(1, ...days.map(([, used]) => used))
  return h(
    'figure',
    { class: 'card days' },
    h('figcaption', null, 'Requests by day (UTC)', h('span', { class: 'note' }, `, peak: ${count(most)}`)),
    h(
      'ol',
      null,
      days.map(([day, used]) =>
        h(
          'li',
          { key: day, title: `${dayInWords(day)}: ${count(used)}` },
          h('span', { class: 'day-bar', style: { height: `${(used / most) * 100}%` } }),
          h('span', { class: 'hidden-label' }, `${dayInWords(day)}: ${count(used)}`),
        ),
      ),
    ),
    h(
      'p',
      { class: 'axis', 'aria-hidden': 'true' },
      h('span', null, dayInWords(days[0]![0])),
      h('span', null, dayInWords(days.at(-1)![0])),
    ),
  )
}
