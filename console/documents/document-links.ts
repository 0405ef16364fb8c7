import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { DocumentName } from '../shared/document-name.ts'
import { useNames } from '../shared/use-names.ts'
import { dayInWords } from '../shared/words-of-time.ts'

export interface Linked {
  readonly id: string
  readonly title?: string | null
  readonly platform: string
  readonly published_at?: string | null
  /** The similarity from 0 to 1; absent where it means nothing. */
  readonly nearness?: number
}

/** Lists documents that are linked from a document. */
export function DocumentLinks({ documents }: { readonly documents: readonly Linked[] }): ComponentChild {
  const { names, look } = useNames()
  useEffect(() => look(documents.filter(({ title }) => !title?.trim()).map(({ id }) => id)), [documents])
  return h(
    'ul',
    { class: 'document-links' },
    documents.map(({ id, title, platform, published_at, nearness }) =>
      h(
        'li',
        { key: id },
        h('a', { href: `/documents/${id}`, dir: 'auto' }, h(DocumentName, { title, ...names.get(id) })),
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
