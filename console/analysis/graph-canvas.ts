import { UndirectedGraph } from 'graphology'
import Sigma from 'sigma'
import { degreesOf, type Graph, neighboursOf } from './graph-of-edges.ts'
import type { Settled, SettleOrder } from './settle-worker.ts'
import { TieLayer } from './tie-layer.ts'

export interface GraphEvents {
  /** The pointer is over a node, or over none. Where, in the canvas. */
  readonly point: (at: { readonly place: number; readonly x: number; readonly y: number } | null) => void
  readonly choose: (place: number | null) => void
  readonly open: (place: number) => void
  readonly settled: () => void
}

interface Shown {
  readonly colours: readonly string[]
  readonly labels: readonly string[]
  /** Nodes that are in the background, as they are not of what was chosen in the legend. */
  readonly isDim: (place: number) => boolean
}

/** The drawn graph: sigma draws nodes and names, and knows what the pointer is at; ties are in a layer of their own. */
export class GraphCanvas {
  readonly #graph: Graph
  readonly #container: HTMLElement
  readonly #nodes = new UndirectedGraph<NodeLook>()
  readonly #sigma: Sigma<NodeLook>
  readonly #ties: TieLayer
  readonly #worker: Worker
  readonly #isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches
  #chosen: number | null = null
  /** What is around the letters of a name: the ground that it stands on. */
  #halo = '#ffffff'

  constructor(container: HTMLElement, graph: Graph, events: GraphEvents) {
    this.#graph = graph
    this.#container = container
    const degrees = degreesOf(graph)
    const most = degrees.reduce((max, degree) => Math.max(max, degree), 1)
    const [small, large] = graph.subjectIds.length > 1_500 ? [1.8, 5] : [3, 9]
    for (const [i, degree] of degrees.entries()) {
      this.#nodes.addNode(String(i), { x: i, y: 0, size: small + (large - small) * (degree / most), color: '#888888' })
    }
    this.#sigma = new Sigma<NodeLook>(this.#nodes, container, {
      renderEdgeLabels: false,
      labelFont: getComputedStyle(container).fontFamily,
      labelSize: 12,
      labelWeight: '500',
      labelDensity: 0.12,
      labelGridCellSize: 200,
      labelRenderedSizeThreshold: 5,
      minCameraRatio: 0.02,
      maxCameraRatio: 4,
      stagePadding: 36,
      enableCameraRotation: false,
      // A page that is being printed or put away may have no width for a moment.
      allowInvalidContainer: true,
      zIndex: true,
      defaultDrawNodeLabel: (...drawn) => drawName(this.#halo, ...drawn),
      // The name of what is pointed at is shown by the page, where it can be read aloud and selected.
      defaultDrawNodeHover: () => {},
    })
    this.#ties = new TieLayer(this.#sigma as unknown as Sigma, graph.ties, graph.subjectIds.length)
    this.followTheme()
    this.#sigma.on('enterNode', ({ node }) => {
      const place = Number(node)
      container.style.cursor = 'pointer'
      events.point({ place, ...this.#pointOf(place) })
      this.#stress(place)
    })
    this.#sigma.on('leaveNode', () => {
      container.style.cursor = ''
      events.point(null)
      this.#stress(this.#chosen)
    })
    this.#sigma.on('clickNode', ({ node }) => events.choose(Number(node)))
    this.#sigma.on('clickStage', () => events.choose(null))
    this.#sigma.on('doubleClickNode', ({ node, preventSigmaDefault }) => {
      preventSigmaDefault()
      events.open(Number(node))
    })
    this.#sigma.getCamera().on('updated', () => events.point(null))
    this.#worker = this.#settle(events.settled)
  }

  #settle(settled: () => void): Worker {
    const worker = new Worker(new URL('./settle-worker.ts', import.meta.url), { type: 'module' })
    let next: Settled | null = null
    const draw = (): void => {
      const { places, isLast } = next!
      next = null
      this.place(places)
      if (isLast) settled()
    }
    worker.addEventListener('message', ({ data }: MessageEvent<Settled>) => {
      // What came while a frame was waited for is seen in its newest state alone.
      if (next === null) requestAnimationFrame(draw)
      next = data
    })
    const { subjectIds, ties, strengths } = this.#graph
    worker.postMessage({ graph: { subjectIds, ties, strengths }, isShown: !this.#isCalm } satisfies SettleOrder)
    return worker
  }

  place(places: Float32Array<ArrayBuffer>): void {
    this.#ties.place(places)
    this.#nodes.updateEachNodeAttributes(
      (node, look) => {
        look.x = places[2 * Number(node)]!
        look.y = places[2 * Number(node) + 1]!
        return look
      },
      { attributes: ['x', 'y'] },
    )
  }

  show({ colours, labels, isDim }: Shown): void {
    const tints = new Uint8Array(4 * colours.length)
    const faint = this.#colour('--line')
    this.#nodes.updateEachNodeAttributes((node, look) => {
      const place = Number(node)
      const dim = isDim(place)
      const color = dim ? faint : colours[place]!
      tints.set([...rgb(color), dim ? 0 : 255], 4 * place)
      return { ...look, color, label: dim ? null : labels[place]!, zIndex: dim ? 0 : 1 }
    })
    this.#ties.colour(tints)
    this.#sigma.scheduleRender()
  }

  /** Puts the eye on a node, whose ties stand out from now on; with null on all of it. */
  choose(place: number | null): void {
    if (this.#chosen !== null) this.#nodes.mergeNodeAttributes(String(this.#chosen), { highlighted: false })
    this.#chosen = place
    this.#stress(place)
    if (place === null) return
    this.#nodes.mergeNodeAttributes(String(place), { highlighted: true })
    const at = this.#sigma.getNodeDisplayData(String(place))
    if (at === undefined) return
    const camera = this.#sigma.getCamera()
    this.#moveTo({ x: at.x, y: at.y, ratio: Math.min(camera.ratio, 0.5) })
  }

  zoom(by: number): void {
    this.#moveTo({ ratio: this.#sigma.getCamera().ratio * by })
  }

  whole(): void {
    this.#moveTo({ x: 0.5, y: 0.5, ratio: 1 })
  }

  followTheme(): void {
    this.#halo = this.#colour('--card')
    this.#sigma.setSetting('labelColor', { color: this.#colour('--ink') })
  }

  kill(): void {
    this.#worker.terminate()
    this.#sigma.kill()
  }

  #moveTo(state: { x?: number; y?: number; ratio?: number }): void {
    const camera = this.#sigma.getCamera()
    if (this.#isCalm) camera.setState(state)
    else camera.animate(state, { duration: 350 })
  }

  #stress(place: number | null): void {
    const ties = place === null ? [] : neighboursOf(this.#graph, place).flatMap((other) => [place, other.place])
    this.#ties.choose(Uint32Array.from(ties))
    this.#sigma.scheduleRender()
  }

  #pointOf(place: number): { x: number; y: number } {
    const { x, y } = this.#nodes.getNodeAttributes(String(place))
    return this.#sigma.graphToViewport({ x, y })
  }

  #colour(name: string): string {
    return hexOf(getComputedStyle(this.#container).getPropertyValue(name), this.#container)
  }
}

/** Beside its node: on the right, or on the left where it would run over the edge. */
function drawName(
  halo: string,
  context: Drawn[0],
  { label, x, y, size }: Drawn[1],
  { labelFont, labelSize, labelWeight, labelColor }: Drawn[2],
): void {
  if (!label) return
  context.font = `${labelWeight} ${labelSize}px ${labelFont}`
  context.fillStyle = labelColor.color ?? '#000000'
  const [width, edge] = [context.measureText(label).width, context.canvas.clientWidth - edgePx]
  const right = x + size + 3
  const left = Math.max(edgePx, x - size - 3 - width)
  const at = [label, right + width <= edge ? right : left, y + labelSize / 3] as const
  context.strokeStyle = halo
  context.lineWidth = 4
  context.lineJoin = 'round'
  context.strokeText(...at)
  context.fillText(...at)
}
type Drawn = Parameters<ReturnType<Sigma<NodeLook>['getSettings']>['defaultDrawNodeLabel']>

const edgePx = 6

interface NodeLook {
  x: number
  y: number
  size: number
  color: string
  label?: string | null
  zIndex?: number
  highlighted?: boolean
  [name: string]: unknown
}

/** A colour of the styles, which may depend on the theme, as sigma and WebGL take it. */
function hexOf(colour: string, within: HTMLElement): string {
  const probe = document.createElement('span')
  probe.style.color = colour
  within.append(probe)
  const parts = getComputedStyle(probe).color.match(/\d+/g) ?? ['0', '0', '0']
  probe.remove()
  const digits = parts.slice(0, 3).map((part) => Number(part).toString(16).padStart(2, '0'))
  return `#${digits.join('')}`
}

const rgb = (hex: string): readonly number[] => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))
