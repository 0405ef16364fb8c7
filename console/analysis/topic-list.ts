import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { dayInWords } from '../shared/words-of-time.ts'
import { documentAddress, titleOf } from './read-documents.ts'
import type { ResultProps } from './result-props.ts'
import { counted } from './run-words.ts'
import { useRows } from './use-rows.ts'

interface Topic {
  readonly cluster_id: string
  readonly size: number
  readonly documents: number
  readonly words: readonly string[]
  readonly central_document_ids: readonly string[]
  readonly first_published_at: Date | null
  readonly last_published_at: Date | null
  readonly platforms: Readonly<Record<string, number>>
  readonly languages: Readonly<Record<string, number>>
  readonly days: Readonly<Record<string, number>>
}

const [shownFirst, centralShown] = [24, 3]

/** Lists topics, the largest first: their words, their days of publication, and their central documents. */
export function TopicList({ run, artifact }: ResultProps): ComponentChild {
  const shown = useSignal(shownFirst)
  const { rows, documents, fault } = useRows<Topic>(run, artifact, shown.value, (topics, count) =>
    topics.slice(0, count).flatMap((topic) => topic.central_document_ids.slice(0, centralShown)),
  )
  if (fault !== null) return h('p', { class: 'notice bad', role: 'alert' }, fault)
  if (rows === null) return h('p', { class: 'note', role: 'status' }, 'Loading topics …')
  if (rows.length === 0) {
    return h('p', { class: 'empty' }, 'No topics found. Try a smaller minimum size.')
  }
  const most = Math.max(...rows.flatMap(({ days }) => Object.values(days)))
  return [
    h('h2', { key: 'h' }, counted(rows.length, 'topic')),
    h(
      'ol',
      { class: 'topics', key: 'list' },
      rows.slice(0, shown.value).map((topic) =>
        h(
          'li',
          { class: 'card', key: topic.cluster_id },
          h(
            'p',
            { class: 'topic-words' },
            topic.words.map((word, i) => h('span', { key: word, class: i < 3 ? 'main' : '', dir: 'auto' }, word)),
          ),
          h('p', { class: 'note' }, factsOf(topic)),
          h(Days, { days: topic.days, most }),
          h(
            'ul',
            { class: 'titles' },
            topic.central_document_ids
              .slice(0, centralShown)
              .map((id) =>
                h(
                  'li',
                  { key: id, dir: 'auto' },
                  documents.has(id)
                    ? h('a', { href: documentAddress(id) }, titleOf(documents.get(id)))
                    : h('span', { class: 'note' }, titleOf(undefined)),
                ),
              ),
          ),
        ),
      ),
    ),
    rows.length > shown.value
      ? h(
          'button',
          {
            key: 'more',
            type: 'button',
            class: 'button',
            onClick: () => {
              shown.value += shownFirst
            },
          },
          'More topics',
        )
      : null,
  ]
}

function factsOf({
  documents,
  first_published_at: first,
  last_published_at: last,
  platforms,
  languages,
}: Topic): string {
  const day = (time: Date): string => dayInWords(time.toISOString())
  const when =
    first === null || last === null ? null : day(first) === day(last) ? day(first) : `${day(first)} – ${day(last)}`
  return [counted(documents, 'document'), when, valuesOf(platforms), valuesOf(languages)].filter(Boolean).join(' · ')
}

const valuesOf = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([name]) => name)
    .join(', ')

/** Draws documents per day, at one scale for all topics. The text above gives the numbers in words. */
function Days({ days, most }: { readonly days: Topic['days']; readonly most: number }): ComponentChild {
  const named = Object.keys(days).sort()
  if (named.length < 2) return null
  const [first, last] = [Date.parse(named[0]!), Date.parse(named.at(-1)!)]
  const span = Math.max(last - first, 86_400_000)
  return h(
    'svg',
    { class: 'days', viewBox: '0 0 300 30', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    named.map((day) => {
      const height = Math.max(2, (days[day]! / most) * 30)
      const x = ((Date.parse(day) - first) / span) * 296
      return h('rect', { key: day, x, y: 30 - height, width: 4, height })
    }),
  )
}
