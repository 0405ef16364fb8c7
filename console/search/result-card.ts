import { type ComponentChild, h } from 'preact'
import { icon } from '../app/icons.ts'
import { safeUrl } from '../shared/safe-url.ts'
import { dayInWords } from '../shared/words-of-time.ts'
import { highlightParts } from './highlight-parts.ts'
import { ScoreBar } from './score-bar.ts'
import type { Result } from './search-types.ts'

/** One result. Its texts came from outside: they go in as texts, in the direction they are written in. */
export function ResultCard({ result, best }: { readonly result: Result; readonly best: number }): ComponentChild {
  const { title, body, highlights = [], author, tags = [] } = result
  const titleParts = highlights.map(highlightParts).find((parts) => parts.map(({ text }) => text).join('') === title)
  const others = highlights.filter(
    (text) =>
      highlightParts(text)
        .map((part) => part.text)
        .join('') !== title,
  )
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
        h('a', { class: 'title', href: `/documents/${result.document_id}` }, titleOf(titleParts, title)),
        url === null
          ? null
          : h(
              'a',
              {
                class: 'original',
                href: url,
                target: '_blank',
                rel: 'noreferrer',
                title: 'The original, in a new tab',
              },
              icon('out'),
              h('span', { class: 'hidden-label' }, 'The original'),
            ),
      ),
      h(ScoreBar, { result, best }),
    ),
    h(
      'p',
      { class: 'result-facts' },
      result.origin === 'live' ? h('span', { class: 'chip live' }, 'live') : null,
      result.status === 'unavailable' ? h('span', { class: 'chip' }, 'no longer there') : null,
      facts.map((fact) => h('span', { key: fact, dir: 'auto' }, fact)),
    ),
    others.length > 0
      ? others.map((text) => h('p', { key: text, class: 'result-text', dir: 'auto' }, marked(highlightParts(text))))
      : body
        ? h('p', { class: 'result-text', dir: 'auto' }, body.length > 320 ? `${body.slice(0, 320)} …` : body)
        : null,
    tags.length === 0
      ? null
      : h(
          'p',
          { class: 'result-tags' },
          tags.slice(0, 8).map((tag) => h('span', { key: tag, class: 'chip', dir: 'auto' }, tag)),
        ),
  )
}

const titleOf = (
  parts: ReturnType<typeof highlightParts> | undefined,
  title: string | null | undefined,
): ComponentChild => (parts === undefined ? title?.trim() || 'Without a title' : marked(parts))

const marked = (parts: ReturnType<typeof highlightParts>): ComponentChild =>
  parts.map(({ text, isHit }, i) => (isHit ? h('mark', { key: i }, text) : text))
