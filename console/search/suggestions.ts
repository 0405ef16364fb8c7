import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { callApi } from '../app/call-api.ts'
import type { ValueCount } from '../shared/value-counts.ts'

const shown = 12

/** Suggests the most frequent topics before anything is typed. */
export function Suggestions({ choose }: { readonly choose: (query: string) => void }): ComponentChild {
  const topics = useSignal<readonly ValueCount[]>([])
  useEffect(() => {
    callApi<{ values: readonly ValueCount[] }>('GET', '/v1/values/topics', { query: { limit: 100 } }).then(
      ({ values }) => {
        topics.value = values.toSorted((a, b) => (b.count ?? 0) - (a.count ?? 0)).slice(0, shown)
      },
      // The application may lack the permission for topics. The search works without them.
      () => {},
    )
  }, [])
  return h(
    'div',
    { class: 'empty' },
    h('p', null, 'Results appear as you type. The last word may be incomplete; misspelt words are corrected.'),
    topics.value.length === 0
      ? null
      : h(
          'p',
          { class: 'suggestions' },
          'Try ',
          topics.value.map(({ value }) =>
            h(
              'button',
              { key: value, type: 'button', class: 'chip', dir: 'auto', onClick: () => choose(value) },
              value,
            ),
          ),
        ),
  )
}
