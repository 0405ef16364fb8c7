import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import type { ValueCount } from './value-counts.ts'

const shownAtFirst = 7

export interface FacetListProps {
  readonly title: string
  readonly counts: readonly ValueCount[]
  readonly chosen: readonly string[]
  readonly choose: (values: readonly string[]) => void
  /** Shown above the values. */
  readonly children?: ComponentChild
}

/** Lists the values of a field. A click on a value adds or removes a filter. */
export function FacetList({ title, counts, chosen, choose, children }: FacetListProps): ComponentChild {
  const isOpen = useSignal(false)
  // Chosen values stay visible, even if no more documents have them.
  const missing = chosen.filter((value) => !counts.some((one) => one.value === value))
  const all = [...missing.map((value) => ({ value, count: null })), ...counts]
  if (all.length === 0 && !children) return null
  const shown = isOpen.value ? all : all.filter(({ value }, i) => i < shownAtFirst || chosen.includes(value))
  const toggle = (value: string): void =>
    choose(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value])
  return h(
    'fieldset',
    { class: 'facet' },
    h('legend', null, title),
    children,
    shown.map(({ value, count }) =>
      h(
        'label',
        { key: value },
        h('input', { type: 'checkbox', checked: chosen.includes(value), onChange: () => toggle(value) }),
        h('span', { class: 'facet-value', dir: 'auto' }, value),
        h('span', { class: 'facet-count' }, count?.toLocaleString()),
      ),
    ),
    all.length > shown.length || isOpen.value
      ? h(
          'button',
          {
            type: 'button',
            class: 'quiet-button',
            onClick: () => {
              isOpen.value = !isOpen.value
            },
          },
          isOpen.value ? 'Fewer' : `${all.length - shown.length} more`,
        )
      : null,
  )
}
