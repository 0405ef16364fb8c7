import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { dayInWords } from '../shared/words-of-time.ts'
import { type Graph, neighboursOf } from './graph-of-edges.ts'
import { type AnalysedDocument, documentAddress, titleOf } from './read-documents.ts'
import { counted } from './run-words.ts'
import { tellApart } from './tell-apart.ts'

/** At most this many texts are listed. A search finds the others. */
const listedMax = 60
const neighboursMax = 30

interface Props {
  readonly graph: Graph
  readonly documents: ReadonlyMap<string, AnalysedDocument>
  readonly degrees: Uint32Array
  readonly chosen: number | null
  readonly choose: (node: number | null) => void
}

/** Lists what the graph shows: all texts, the matches of a search, or one text with its neighbours. */
export function GraphPanel({ graph, documents, degrees, chosen, choose }: Props): ComponentChild {
  const query = useSignal('')
  const titleAt = (node: number): string => titleOf(documents.get(graph.documentIds[node]!))
  const needle = query.value.trim().toLowerCase()
  const found = graph.subjectIds
    .map((_, node) => node)
    .filter((node) => needle === '' || textOf(documents.get(graph.documentIds[node]!)).includes(needle))
    .sort((a, b) => degrees[b]! - degrees[a]!)
  const apart = useMemo(
    () => tellApart(graph, titleAt, (node) => factsOf(documents.get(graph.documentIds[node]!))),
    [graph, documents],
  )
  const entry = (node: number, note: string): ComponentChild =>
    h(
      'li',
      { key: node },
      h(
        'button',
        { type: 'button', 'aria-current': node === chosen ? 'true' : undefined, onClick: () => choose(node) },
        h(
          'span',
          null,
          h('span', { class: 'node-title', dir: 'auto' }, titleAt(node)),
          h('span', { class: 'note', dir: 'auto' }, apart(node)),
        ),
        h('span', { class: 'count' }, note),
      ),
    )
  return h(
    'aside',
    { class: 'graph-panel card', 'aria-label': 'Texts of the graph' },
    h('label', { class: 'hidden-label', for: 'graph-search' }, 'Search in the graph'),
    h('input', {
      id: 'graph-search',
      type: 'search',
      dir: 'auto',
      placeholder: 'Search in the graph',
      value: query.value,
      onInput: (event: Event) => {
        query.value = (event.currentTarget as HTMLInputElement).value
      },
      onKeyDown: (event: KeyboardEvent) => {
        if (event.key === 'Enter' && found[0] !== undefined) choose(found[0])
        if (event.key === 'Escape') choose(null)
      },
    }),
    chosen === null
      ? null
      : h(Chosen, { document: documents.get(graph.documentIds[chosen]!), id: graph.documentIds[chosen]!, choose }),
    chosen === null
      ? null
      : [
          h('h3', { key: 'h' }, 'Nearest'),
          h(
            'ol',
            { key: 'l', class: 'graph-list' },
            neighboursOf(graph, chosen)
              .slice(0, neighboursMax)
              .map(({ node, similarity }) => entry(node, similarity.toFixed(2))),
          ),
        ],
    chosen !== null && needle === ''
      ? null
      : [
          h(
            'h3',
            { key: 'h', role: 'status' },
            needle === '' ? 'Most connected' : found.length === 0 ? 'No matches' : counted(found.length, 'text'),
          ),
          h(
            'ol',
            { key: 'l', class: 'graph-list' },
            found.slice(0, listedMax).map((node) => entry(node, String(degrees[node]))),
          ),
        ],
  )
}

const textOf = (document: AnalysedDocument | undefined): string =>
  `${document?.content?.title ?? ''} ${document?.content?.body ?? ''}`.toLowerCase()

const factsOf = (document: AnalysedDocument | undefined): readonly string[] =>
  [
    document?.source_platform,
    document?.author?.nickname,
    document?.language,
    document?.published_at ? dayInWords(document.published_at) : null,
  ].filter((fact): fact is string => Boolean(fact))

interface ChosenProps {
  readonly document: AnalysedDocument | undefined
  readonly id: string
  readonly choose: (node: number | null) => void
}

function Chosen({ document, id, choose }: ChosenProps): ComponentChild {
  const heading = useRef<HTMLHeadingElement>(null)
  // On a phone, the selected text is below the graph.
  useEffect(() => heading.current?.scrollIntoView({ block: 'nearest' }), [id])
  const facts = [document?.dataset_id, ...factsOf(document)].filter(Boolean)
  const body = document?.content?.body ?? ''
  return h(
    'section',
    { class: 'graph-chosen', 'aria-live': 'polite' },
    h('h3', { ref: heading, dir: 'auto' }, titleOf(document)),
    facts.length === 0 ? null : h('p', { class: 'note', dir: 'auto' }, facts.join(' · ')),
    body === ''
      ? null
      : h('p', { class: 'graph-text', dir: 'auto' }, body.slice(0, 280), body.length > 280 ? ' …' : ''),
    h(
      'p',
      { class: 'graph-actions' },
      document === undefined ? null : h('a', { class: 'button small', href: documentAddress(id) }, 'Open document'),
      h('button', { type: 'button', class: 'button small', onClick: () => choose(null) }, 'Clear selection'),
    ),
  )
}
