import { type ComponentChild, h } from 'preact'
import { icon } from '../app/icons.ts'
import { PictureLink } from '../shared/picture-link.ts'
import { safeUrl } from '../shared/safe-url.ts'
import { dayInWords } from '../shared/words-of-time.ts'
import { highlightParts, type Part, withCuts } from './highlight-parts.ts'
import { ScoreBar } from './score-bar.ts'
import type { Result } from './search-types.ts'

/** Shows one result. Texts of documents are set as text, never as markup, each in its own direction. */
export function ResultCard({ result, best }: { readonly result: Result; readonly best: number }): ComponentChild {
  const { title, body = '', highlights = [], author, tags = [] } = result
  const pieces = highlights.map(highlightParts)
  const isTitle = (parts: readonly Part[]): boolean => plain(parts) === title
  const cuttings = pieces.filter((parts) => !isTitle(parts)).map((parts) => withCuts(parts, body))
  const texts = cuttings.length > 0 ? cuttings : body === '' ? [] : [withCuts([beginningOf(body)], body)]
  // The first text stands in for a missing title.
  const isNamed = Boolean(title?.trim())
  const name = isNamed ? (pieces.find(isTitle) ?? title) : (texts[0] ?? 'Without a title')
  const others = isNamed ? texts : texts.slice(1)
  const url = safeUrl(result.url)
  const facts = [
    result.dataset_id,
    result.source_platform,
    result.language,
    result.published_at ? dayInWords(result.published_at) : null,
    author?.nickname ?? author?.external_author_id,
  ].filter((fact): fact is string => Boolean(fact))
  return h(
    'article',
    { class: 'result' },
    h(
      'div',
      { class: 'result-head' },
      h(
        'h2',
        { dir: 'auto' },
        h(
          'a',
          { class: 'title', href: `/documents/${result.document_id}` },
          isNamed ? marked(name) : h('span', { class: 'excerpt' }, marked(name)),
        ),
        url === null
          ? null
          : h(
              'a',
              {
                class: 'original',
                href: url,
                target: '_blank',
                rel: 'noreferrer',
                title: 'Original (opens in a new tab)',
              },
              icon('out'),
              h('span', { class: 'hidden-label' }, 'Original'),
            ),
      ),
      h(ScoreBar, { result, best }),
    ),
    h(
      'p',
      { class: 'result-facts' },
      result.origin === 'live' ? h('span', { class: 'chip live' }, 'live') : null,
      result.status === 'unavailable' ? h('span', { class: 'chip' }, 'unavailable') : null,
      facts.map((fact) => h('span', { key: fact, dir: 'auto' }, fact)),
      h(PictureLink, { address: result.thumbnail_url }),
    ),
    others.map((parts, i) => h('p', { key: i, class: 'result-text', dir: 'auto' }, marked(parts))),
    tags.length === 0
      ? null
      : h(
          'p',
          { class: 'result-tags' },
          tags.slice(0, 8).map((tag) => h('span', { key: tag, class: 'chip', dir: 'auto' }, tag)),
        ),
  )
}

const bodyMax = 320

const beginningOf = (body: string): Part => ({
  text: body.length > bodyMax ? body.slice(0, bodyMax).replace(/\s\S{0,30}$/, '') : body,
  isHit: false,
})

const plain = (parts: readonly Part[]): string => parts.map(({ text }) => text).join('')

const marked = (parts: readonly Part[] | string | null | undefined): ComponentChild =>
  typeof parts === 'object' && parts !== null
    ? parts.map(({ text, isHit }, i) => (isHit ? h('mark', { key: i }, text) : text))
    : parts
