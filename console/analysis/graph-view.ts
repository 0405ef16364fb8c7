import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { inWords } from '../app/call-api.ts'
import { go } from '../app/router.ts'
import { theme } from '../app/theme.ts'
import type { Run } from './analysis-types.ts'
import { ClusterChoice, type Clusters } from './cluster-choice.ts'
import type { GraphCanvas } from './graph-canvas.ts'
import { type Legend, legendOf } from './graph-colours.ts'
import { degreesOf, type Graph } from './graph-of-edges.ts'
import { GraphPanel } from './graph-panel.ts'
import { type AnalysedDocument, documentAddress, readDocuments, titleOf } from './read-documents.ts'
import { artifactPath, readGraph } from './read-table.ts'
import type { ResultProps } from './result-props.ts'
import { counted } from './run-words.ts'

const colourings = ['cluster', 'platform', 'language'] as const
type Colouring = (typeof colourings)[number]
const colouringWords: Readonly<Record<Colouring, string>> = {
  cluster: 'Topic',
  platform: 'Platform',
  language: 'Language',
}

/** Both layers need WebGL 2, and even loading sigma fails without it. */
const canDraw = (): boolean => document.createElement('canvas').getContext('webgl2') !== null

/** Draws the graph of a run. A list beside it gives the same information to readers who cannot see the graph. */
export function GraphView({ run, artifact }: ResultProps): ComponentChild {
  const graph = useSignal<Graph | null>(null)
  const documents = useSignal<ReadonlyMap<string, AnalysedDocument>>(new Map())
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    const read = async (): Promise<void> => {
      const found = await readGraph(artifactPath(run.run_id, artifact), controller.signal)
      controller.signal.throwIfAborted()
      graph.value = found
      await readDocuments(found.documentIds, controller.signal, (some) => {
        documents.value = new Map([...documents.value, ...some.map((one) => [one.id, one] as const)])
      })
    }
    read().catch((error) => {
      if (!controller.signal.aborted) fault.value = inWords(error)
    })
    return () => controller.abort()
  }, [run.run_id])

  if (fault.value !== null) return h('p', { class: 'notice bad', role: 'alert' }, fault.value)
  if (graph.value === null) return h('p', { class: 'note', role: 'status' }, 'Loading the graph …')
  if (graph.value.subjectIds.length === 0) {
    return h(
      'p',
      { class: 'empty' },
      'No two texts are close enough. Try a lower minimum similarity or more documents.',
    )
  }
  return h(Drawn, { run, graph: graph.value, documents: documents.value })
}

interface DrawnProps {
  readonly run: Run
  readonly graph: Graph
  readonly documents: ReadonlyMap<string, AnalysedDocument>
}

function Drawn({ run, graph, documents }: DrawnProps): ComponentChild {
  const container = useRef<HTMLDivElement>(null)
  const canvas = useRef<GraphCanvas | null>(null)
  const colouring = useSignal<Colouring>('platform')
  const clusters = useSignal<Clusters | null>(null)
  const only = useSignal<string | null | undefined>(undefined)
  const chosen = useSignal<number | null>(null)
  const pointed = useSignal<{ readonly node: number; readonly x: number; readonly y: number } | null>(null)
  const [isDrawn, isSettled] = [useSignal(false), useSignal(false)]
  const fault = useSignal<string | null>(null)
  const isDrawable = useRef(canDraw()).current

  const documentAt = (node: number): AnalysedDocument | undefined => documents.get(graph.documentIds[node]!)
  const values = graph.subjectIds.map((subject, node) => {
    if (colouring.value === 'cluster') return clusters.value?.of.get(subject) ?? null
    const document = documentAt(node)
    return (colouring.value === 'platform' ? document?.source_platform : document?.language) ?? null
  })
  const legend = legendOf(values)
  const wordsOf = (value: string | null): string =>
    value === null
      ? colouring.value === 'cluster'
        ? 'No topic'
        : 'Other or unknown'
      : colouring.value === 'cluster'
        ? (clusters.value?.words.get(value) ?? value)
        : value

  const choose = (node: number | null): void => {
    chosen.value = node
    canvas.current?.choose(node)
  }

  useEffect(() => {
    if (!isDrawable) return
    let isGone = false
    const draw = async (): Promise<void> => {
      const { GraphCanvas } = await import('./graph-canvas.ts')
      if (isGone) return
      canvas.current = new GraphCanvas(container.current!, graph, {
        point: (at) => {
          pointed.value = at
        },
        choose,
        open: (node) => go(documentAddress(graph.documentIds[node]!)),
        settled: () => {
          isSettled.value = true
        },
      })
      isDrawn.value = true
    }
    draw().catch((error) => {
      fault.value = inWords(error)
    })
    return () => {
      isGone = true
      canvas.current?.kill()
      canvas.current = null
    }
  }, [graph])

  // Colours depend on the loaded documents and topics, on the legend's selection, and on the theme.
  const shown = legend.entries.map(({ value }) => value)
  useEffect(() => {
    const isOf = (node: number): boolean =>
      only.value === null ? !shown.includes(values[node]!) || values[node] === null : values[node] === only.value
    const isDim = (node: number): boolean => only.value !== undefined && !isOf(node)
    canvas.current?.show({
      colours: legend.colours,
      labels: graph.documentIds.map((id) => shortened(titleOf(documents.get(id)))),
      isDim,
    })
  }, [documents, colouring.value, clusters.value, only.value, theme.value, isDrawn.value])
  useEffect(() => canvas.current?.followTheme(), [theme.value])

  return h(
    'div',
    { class: 'graph-columns' },
    h(
      'div',
      { class: 'graph-main' },
      h(
        'div',
        { class: 'graph-tools' },
        h(
          'div',
          { class: 'switch', role: 'radiogroup', 'aria-label': 'Colour by' },
          colourings.map((one) =>
            h(
              'label',
              { key: one },
              h('input', {
                type: 'radio',
                name: 'colouring',
                checked: one === colouring.value,
                onChange: () => {
                  colouring.value = one
                  only.value = undefined
                },
              }),
              h('span', null, colouringWords[one]),
            ),
          ),
        ),
        isDrawable
          ? h(
              'div',
              { class: 'graph-zoom', role: 'group', 'aria-label': 'Zoom' },
              zoomButton('−', 'Zoom out', () => canvas.current?.zoom(1.5)),
              zoomButton('+', 'Zoom in', () => canvas.current?.zoom(1 / 1.5)),
              zoomButton('All', 'Show all', () => canvas.current?.showAll()),
            )
          : null,
      ),
      colouring.value === 'cluster'
        ? h(ClusterChoice, {
            run,
            chosen: clusters.value,
            choose: (found) => {
              clusters.value = found
            },
          })
        : null,
      isDrawable
        ? h(
            'div',
            { class: 'graph-frame' },
            h('div', {
              class: 'graph-canvas',
              ref: container,
              role: 'img',
              'aria-label': `A graph of ${counted(graph.subjectIds.length, 'text')} and ${counted(graph.similarities.length, 'link')} between them. The list beside it shows the same content.`,
            }),
            pointed.value === null
              ? null
              : h(
                  'div',
                  {
                    class: 'graph-tip',
                    dir: 'auto',
                    style: { controller: `${pointed.value.x}px`, top: `${pointed.value.y}px` },
                  },
                  titleOf(documentAt(pointed.value.node)),
                ),
          )
        : h(
            'p',
            { class: 'notice warn', role: 'status' },
            'The graph needs WebGL 2, which this browser does not support or has turned off. The list shows the same content.',
          ),
      fault.value === null ? null : h('p', { class: 'notice bad', role: 'alert' }, fault.value),
      h(
        'p',
        { class: 'note', role: 'status' },
        `${counted(graph.subjectIds.length, 'text')}, ${counted(graph.similarities.length, 'link')}. `,
        !isDrawable ? '' : isSettled.value ? 'Layout finished.' : 'Laying out …',
      ),
      h(LegendList, {
        legend,
        wordsOf,
        only: only.value,
        choose: (value) => {
          only.value = only.value === value ? undefined : value
        },
      }),
    ),
    h(GraphPanel, { graph, documents, chosen: chosen.value, choose, degrees: degreesOf(graph) }),
  )
}

const shortened = (title: string): string => (title.length > 48 ? `${title.slice(0, 46).trimEnd()} …` : title)

const zoomButton = (sign: string, title: string, press: () => void): ComponentChild =>
  h('button', { type: 'button', class: 'button small', title, 'aria-label': title, onClick: press }, sign)

interface LegendProps {
  readonly legend: Legend
  readonly wordsOf: (value: string | null) => string
  /** The value whose nodes are not dimmed; undefined if no node is. */
  readonly only: string | null | undefined
  readonly choose: (value: string | null) => void
}

function LegendList({ legend, wordsOf, only, choose }: LegendProps): ComponentChild {
  return h(
    'ul',
    { class: 'legend', 'aria-label': 'Colours' },
    legend.entries.map(({ value, colour, count }) =>
      h(
        'li',
        { key: value ?? '' },
        h(
          'button',
          { type: 'button', 'aria-pressed': only === value, onClick: () => choose(value) },
          h('span', { class: 'dot', style: { background: colour } }),
          h('bdi', null, wordsOf(value)),
          h('span', { class: 'count' }, count.toLocaleString()),
        ),
      ),
    ),
  )
}
