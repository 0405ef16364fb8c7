import { type ComponentChild, h } from 'preact'
import { icon } from '../app/icons.ts'

export interface ChosenFilter {
  readonly words: string
  readonly drop: () => void
}

/** Lists the active filters, each with a button that removes it. On a phone the filters themselves are folded away. */
export function ChosenFilters({ chosen }: { readonly chosen: readonly ChosenFilter[] }): ComponentChild {
  if (chosen.length === 0) return null
  return h(
    'ul',
    { class: 'chosen', 'aria-label': 'Filters' },
    chosen.map(({ words, drop }) =>
      h(
        'li',
        { key: words },
        h(
          'button',
          { type: 'button', class: 'chip', onClick: drop, title: 'Remove this filter' },
          h('bdi', null, words),
          icon('close'),
        ),
      ),
    ),
  )
}
