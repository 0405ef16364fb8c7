import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { DocumentName } from '../shared/document-name.ts'
import { useNames } from '../shared/use-names.ts'
import { dayInWords } from '../shared/words-of-time.ts'

export interface LinkedDocument {
  readonly id: string
  readonly title?: string | null
  readonly platform: string
  readonly published_at?: string | null
  /** The cosine similarity to the shown document; absent if the document was found by its words. */
  readonly similarity?: number
}

/** Lists documents related to the shown one. */
export function DocumentLinks({ documents }: { readonly documents: readonly LinkedDocument[] }): ComponentChild {
  const { names, loadNames } = useNames()
  useEffect(() => loadNames(documents.filter(({ title }) => !title?.trim()).map(({ id }) => id)), [documents])
  return h(
    'ul',
    { class: 'document-links' },
    documents.map(({ id, title, platform, published_at, similarity }) =>
      h(
        'li',
        { key: id },
        h('a', { href: `/documents/${id}`, dir: 'auto' }, h(DocumentName, { title, ...names.get(id) })),
        h(
          'span',
          { class: 'note' },
          h('bdi', null, platform),
          published_at ? ` · ${dayInWords(published_at)}` : '',
          similarity === undefined ? '' : ` · ${similarity.toFixed(2)}`,
        ),
      ),
    ),
  )
}
