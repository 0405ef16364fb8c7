import { type ComponentChild, h } from 'preact'
import { dayInWords } from '../shared/words-of-time.ts'
import { titleOf } from './document-types.ts'

export interface Linked {
  readonly id: string
  readonly title?: string | null
  readonly platform: string
  readonly published_at?: string | null
  /** How near it is, from 0 to 1; absent where that says nothing. */
  readonly nearness?: number
}

/** Documents that a document leads to. */
export function DocumentLinks({ documents }: { readonly documents: readonly Linked[] }): ComponentChild {
  return h(
    'ul',
    { class: 'document-links' },
    documents.map(({ id, title, platform, published_at, nearness }) =>
      h(
        'li',
        { key: id },
        h('a', { href: `/documents/${id}`, dir: 'auto' }, titleOf({ title: title ?? null })),
        h(
          'span',
          { class: 'note' },
          h('bdi', null, platform),
          published_at ? ` · ${dayInWords(published_at)}` : '',
          nearness === undefined ? '' : ` · ${nearness.toFixed(2)}`,
        ),
      ),
    ),
  )
}
