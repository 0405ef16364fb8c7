import { type ComponentChild, h } from 'preact'
import { DocumentName } from '../shared/document-name.ts'
import { PictureLink } from '../shared/picture-link.ts'
import { dayInWords } from '../shared/words-of-time.ts'
import type { Document } from './document-types.ts'

/** The height of a row in rem. Longer texts are cut. On a phone a title has two lines. */
export const rowRem = (isNarrow: boolean): number => (isNarrow ? 5.6 : 4.4)

export interface DocumentRowProps {
  readonly document: Document
  /** The start of the body, for a document without a title. */
  readonly body?: string | null | undefined
}

/**
 * Shows one document of a list in two lines. Texts of documents are set as text, never as markup, each in its own
 * direction.
 */
export function DocumentRow({ document, body }: DocumentRowProps): ComponentChild {
  const { author, classifications = [], topics = [], score } = document
  const words = [...new Set([...classifications, ...topics])].slice(0, 3)
  const facts = [
    document.dataset_id,
    document.source_platform,
    document.language,
    document.published_at ? dayInWords(document.published_at) : null,
    author?.nickname ?? author?.external_author_id,
  ].filter((fact): fact is string => Boolean(fact))
  const row = h(
    'a',
    { class: 'document-row', href: `/documents/${document.id}` },
    h('span', { class: 'document-title', dir: 'auto' }, h(DocumentName, { title: document.title, body })),
    h(
      'span',
      { class: 'document-score', title: 'Score' },
      typeof score === 'number' ? [h('span', { class: 'hidden-label' }, 'Score '), score.toLocaleString()] : null,
    ),
    h(
      'span',
      { class: 'document-facts' },
      document.status === 'unavailable' ? h('span', { class: 'chip' }, 'unavailable') : null,
      facts.map((fact, i) => h('bdi', { key: i }, fact)),
      words.map((word) => h('bdi', { key: word, class: 'chip' }, word)),
    ),
  )
  // The row itself is a link, so the link to the picture is placed beside it.
  return h('div', { class: 'document-line' }, row, h(PictureLink, { address: document.thumbnail_url }))
}
