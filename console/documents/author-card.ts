import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { account } from '../app/account.ts'
import { addressOf } from '../app/address-of.ts'
import { inWords } from '../app/call-api.ts'
import { pathSegment } from '../shared/path-segment.ts'
import { safeUrl } from '../shared/safe-url.ts'
import { DocumentLinks } from './document-links.ts'
import type { Author, Detail, Document } from './document-types.ts'
import { readListing } from './read-listing.ts'

const shown = 5

/** Shows the author and links to a few of their other documents. */
export function AuthorCard({
  document,
  author,
}: {
  readonly document: Detail
  readonly author: Author
}): ComponentChild {
  const { nickname, external_author_id: id, home_page, biography, follower_count, verified } = author
  const name = nickname ?? id ?? 'Unknown'
  const home = safeUrl(home_page)
  const facts = [
    verified ? 'verified' : null,
    follower_count === null ? null : `${follower_count.toLocaleString()} followers`,
  ].filter((fact) => fact !== null)
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'author' },
    h('h2', { id: 'author' }, 'Author'),
    h(
      'div',
      { class: 'author' },
      h('span', { class: 'author-sign', 'aria-hidden': 'true' }, [...name][0]?.toUpperCase()),
      h(
        'div',
        null,
        h(
          'p',
          { class: 'author-name', dir: 'auto' },
          home === null ? name : h('a', { href: home, target: '_blank', rel: 'noreferrer' }, name),
        ),
        facts.length === 0 ? null : h('p', { class: 'note' }, facts.join(' · ')),
      ),
    ),
    biography ? h('p', { class: 'author-words', dir: 'auto' }, biography) : null,
    id === null ? null : h(OtherDocuments, { key: document.id, document, authorId: id }),
  )
}

function OtherDocuments({
  document,
  authorId,
}: {
  readonly document: Detail
  readonly authorId: string
}): ComponentChild {
  const others = useSignal<readonly Document[] | null>(null)
  const fault = useSignal<string | null>(null)
  const known = account.value
  useEffect(() => {
    if (known === null) return
    const controller = new AbortController()
    const read = async (): Promise<void> => {
      const listing = {
        path: `/v1/users/${pathSegment(document.source_platform)}/${pathSegment(authorId)}/documents`,
        query: { dataset_id: document.dataset_id },
        pageSize: shown + 1,
        earliest: known.earliest_ingested_at,
        latest: known.latest_ingested_at,
      }
      const found: Document[] = []
      for await (const page of readListing(listing, controller.signal)) {
        found.push(...page.filter(({ id }) => id !== document.id))
        if (found.length >= shown) break
      }
      others.value = found.slice(0, shown)
    }
    read().catch((error: unknown) => {
      if (!controller.signal.aborted) fault.value = inWords(error)
    })
    return () => controller.abort()
  }, [document.id, known?.application_id])
  if (fault.value !== null) return h('p', { class: 'note' }, fault.value)
  if (others.value === null) return h('p', { class: 'note' }, 'Loading …')
  if (others.value.length === 0) return h('p', { class: 'note' }, 'No other documents by this author.')
  return [
    h('h3', { key: 'title' }, 'More by this author'),
    h(DocumentLinks, {
      key: 'links',
      documents: others.value.map(({ id, title, source_platform: platform, published_at }) => ({
        id,
        platform,
        published_at,
        title: title ?? null,
      })),
    }),
    h(
      'p',
      { key: 'all' },
      h(
        'a',
        {
          href: addressOf('/documents', {
            dataset: document.dataset_id,
            platforms: document.source_platform,
            author: authorId,
          }),
        },
        'All by this author',
      ),
    ),
  ]
}
