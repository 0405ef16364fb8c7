import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { useApi } from '../app/use-api.ts'
import { FacetList } from '../shared/facet-list.ts'
import { type ValueCount, withoutCommas } from '../shared/value-counts.ts'

interface Values {
  readonly values: readonly ValueCount[]
  readonly next_cursor?: string
}

export interface ValueFilterProps {
  readonly title: string
  readonly field: string
  /** Only values of this dataset; empty for all datasets. */
  readonly dataset: string
  readonly chosen: readonly string[]
  readonly choose: (values: readonly string[]) => void
}

const valuesMax = 100

/** Offers the values of a field in readable documents, the most frequent first. A prefix narrows a long list. */
export function ValueFilter({ title, field, dataset, chosen, choose }: ValueFilterProps): ComponentChild {
  const prefix = useSignal('')
  const isMany = useSignal(false)
  const shown = useSignal<readonly ValueCount[]>([])
  const { body, status } = useApi<Values>({
    path: `/v1/values/${field}`,
    query: { dataset_id: dataset, prefix: prefix.value, limit: valuesMax },
  })
  useEffect(() => {
    // The old values stay until the new ones arrive, because a list that flickers cannot be clicked.
    if (body.value === null) return
    shown.value = body.value.values.toSorted((a, b) => (b.count ?? 0) - (a.count ?? 0))
    if (prefix.value === '') isMany.value = body.value.next_cursor !== undefined
  }, [body.value])
  // 403: the application may not read this field in this dataset.
  if (status.value === 403) return null
  return h(
    FacetList,
    { title, counts: withoutCommas(shown.value), chosen, choose },
    isMany.value ? h(PrefixField, { title, prefix }) : null,
  )
}

function PrefixField({
  title,
  prefix,
}: {
  readonly title: string
  readonly prefix: { value: string }
}): ComponentChild {
  return h('input', {
    type: 'search',
    class: 'facet-prefix',
    'aria-label': `${title} begins with`,
    placeholder: 'Begins with …',
    maxLength: 128,
    onInput: (event: Event) => {
      prefix.value = (event.currentTarget as HTMLInputElement).value
    },
  })
}
