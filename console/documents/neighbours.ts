import { type ComponentChild, h } from 'preact'
import { useApi } from '../app/use-api.ts'
import { DocumentLinks } from './document-links.ts'
import type { Content } from './document-types.ts'

const [shown, queryMax] = [6, 1_000]

interface Found {
  readonly degraded: boolean
  readonly results: readonly {
    readonly document_id: string
    readonly source_platform: string
    readonly title?: string | null
    readonly published_at?: string | null
    readonly score: number
  }[]
}

/** Lists similar documents, found by a vector search for the beginning of this one. */
export function Neighbours({
  documentId,
  content,
}: {
  readonly documentId: string
  readonly content: Content
}): ComponentChild {
  const query = [content.title, content.body].filter(Boolean).join('\n').trim().slice(0, queryMax)
  const { body, fault } = useApi<Found>(
    query === ''
      ? null
      : { method: 'POST', path: '/v1/search/vector', repeatable: true, body: { query, limit: shown + 1 } },
  )
  const others = (body.value?.results ?? []).filter(({ document_id }) => document_id !== documentId).slice(0, shown)
  const isByWords = body.value?.degraded === true
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'neighbours' },
    h('h2', { id: 'neighbours' }, 'Similar documents'),
    fault.value === null ? null : h('p', { class: 'note' }, fault.value),
    isByWords
      ? h(
          'p',
          { class: 'note' },
          'Search by meaning is not available at the moment. These documents were found by their words.',
        )
      : null,
    body.value === null
      ? h(
          'p',
          { class: 'note' },
          query === '' ? 'This document has no text to compare.' : fault.value === null ? 'Loading …' : '',
        )
      : others.length === 0
        ? h('p', { class: 'note' }, 'No similar documents.')
        : h(DocumentLinks, {
            documents: others.map(({ document_id: id, source_platform: platform, title, published_at, score }) => ({
              id,
              platform,
              title: title ?? null,
              published_at: published_at ?? null,
              ...(isByWords ? {} : { similarity: score }),
            })),
          }),
  )
}
