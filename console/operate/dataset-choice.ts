import { type ComponentChild, h } from 'preact'
import { useId } from 'preact/hooks'
import type { Dataset } from './answers.ts'
import { ListStatus } from './list-status.ts'
import { useRead } from './read.ts'

export interface DatasetChoiceProps {
  /** Empty if none is chosen. */
  readonly chosen: string
  readonly choose: (id: string) => void
}

/** Chooses one dataset. */
export function DatasetChoice({ chosen, choose }: DatasetChoiceProps): ComponentChild {
  const id = useId()
  const { body, fault } = useRead<{ datasets: readonly Dataset[] }>('/admin/v1/datasets')
  if (body === null) return h(ListStatus, { fault, isKnown: false, isEmpty: false })
  return h(
    'p',
    { class: 'field' },
    h('label', { for: id }, 'Dataset'),
    h(
      'select',
      {
        id,
        name: 'dataset',
        required: true,
        value: chosen,
        onChange: (event: Event) => choose((event.currentTarget as HTMLSelectElement).value),
      },
      h('option', { value: '' }, 'Choose one'),
      body.datasets.map(({ dataset_id: value, name }) =>
        h('option', { key: value, value }, value === name ? value : `${value} (${name})`),
      ),
    ),
  )
}
