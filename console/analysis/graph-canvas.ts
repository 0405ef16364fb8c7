import { UndirectedGraph } from 'graphology'
import Sigma from 'sigma'
import { EdgeLayer } from './edge-layer.ts'
import { degreesOf, type Graph, neighboursOf } from './graph-of-edges.ts'
import type { LayoutRequest, LayoutState } from './layout-worker.ts'

export interface GraphEvents {
  /** Called with the node under the pointer and its position on the canvas in pixels, or with null. */
  readonly point: (at: { readonly node: number; readonly x: number; readonly y: number } | null) => void
  readonly choose: (node: number | null) => void
  readonly open: (node: number) => void
  readonly settled: () => void
}

interface Shown {
  readonly colours: readonly string[]
  readonly labels: readonly string[]
  /** Whether a node is dimmed, because it does not belong to the group chosen in the legend. */
  readonly isDim: (node: number) => boolean
}

/**
 * Draws the graph. Sigma draws nodes and labels and finds the node under the pointer; an `EdgeLayer` draws the edges.
 */
export class GraphCanvas {
  readonly #graph: Graph
  readonly #container: HTMLElement
  readonly #nodes = new UndirectedGraph<NodeLook>()
  readonly #sigma: Sigma<NodeLook>
  readonly #edges: EdgeLayer
  readonly #worker: Worker
  readonly #reducesMotion = matchMedia('(prefers-reduced-motion: reduce)').matches
  #chosen: number | null = null
  /** The outline of labels, in the background colour. */
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
      // The container may have no width for a moment, while the page is printed or hidden.
      allowInvalidContainer: true,
      zIndex: true,
      defaultDrawNodeLabel: (...drawn) => drawName(this.#halo, ...drawn),
      // The page shows the label of the hovered node, so that it can be read aloud and selected.
      defaultDrawNodeHover: () => {},
    })
    this.#edges = new EdgeLayer(this.#sigma as unknown as Sigma, graph.edges, graph.subjectIds.length)
    this.followTheme()
    this.#sigma.on('enterNode', ({ node: key }) => {
      const node = Number(key)
      container.style.cursor = 'pointer'
      events.point({ node, ...this.#pointOf(node) })
      this.#highlight(node)
    })
    this.#sigma.on('leaveNode', () => {
      container.style.cursor = ''
      events.point(null)
      this.#highlight(this.#chosen)
    })
    this.#sigma.on('clickNode', ({ node: key }) => events.choose(Number(key)))
    this.#sigma.on('clickStage', () => events.choose(null))
    this.#sigma.on('doubleClickNode', ({ node: key, preventSigmaDefault }) => {
      preventSigmaDefault()
      events.open(Number(key))
    })
    this.#sigma.getCamera().on('updated', () => events.point(null))
    this.#worker = this.#startLayout(events.settled)
  }

  #startLayout(settled: () => void): Worker {
    const worker = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' })
    let next: LayoutState | null = null
    const draw = (): void => {
      const { positions, isLast } = next!
      next = null
      this.setPositions(positions)
      if (isLast) settled()
    }
    worker.addEventListener('message', ({ data }: MessageEvent<LayoutState>) => {
      // Only the newest state is drawn, once per frame.
      if (next === null) requestAnimationFrame(draw)
      next = data
    })
    const { subjectIds, edges, strengths } = this.#graph
    worker.postMessage({
      graph: { subjectIds, edges, strengths },
      isShown: !this.#reducesMotion,
    } satisfies LayoutRequest)
    return worker
  }

  setPositions(positions: Float32Array<ArrayBuffer>): void {
    this.#edges.setPositions(positions)
    this.#nodes.updateEachNodeAttributes(
      (key, look) => {
        look.x = positions[2 * Number(key)]!
        look.y = positions[2 * Number(key) + 1]!
        return look
      },
      { attributes: ['x', 'y'] },
    )
  }

  show({ colours, labels, isDim }: Shown): void {
    const tints = new Uint8Array(4 * colours.length)
    const faint = this.#colour('--line')
    this.#nodes.updateEachNodeAttributes((key, look) => {
      const node = Number(key)
      const dim = isDim(node)
      const color = dim ? faint : colours[node]!
      tints.set([...rgb(color), dim ? 0 : 255], 4 * node)
      return { ...look, color, label: dim ? null : labels[node]!, zIndex: dim ? 0 : 1 }
    })
    this.#edges.colour(tints)
    this.#sigma.scheduleRender()
  }

  /** Moves the camera to a node and highlights its edges. Null removes the highlight. */
  choose(node: number | null): void {
    if (this.#chosen !== null) this.#nodes.mergeNodeAttributes(String(this.#chosen), { highlighted: false })
    this.#chosen = node
    this.#highlight(node)
    if (node === null) return
    this.#nodes.mergeNodeAttributes(String(node), { highlighted: true })
    const at = this.#sigma.getNodeDisplayData(String(node))
    if (at === undefined) return
    const camera = this.#sigma.getCamera()
    this.#moveTo({ x: at.x, y: at.y, ratio: Math.min(camera.ratio, 0.5) })
  }

  zoom(by: number): void {
    this.#moveTo({ ratio: this.#sigma.getCamera().ratio * by })
  }

  showAll(): void {
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
    if (this.#reducesMotion) camera.setState(state)
    else camera.animate(state, { duration: 350 })
  }

  #highlight(node: number | null): void {
    const edges = node === null ? [] : neighboursOf(this.#graph, node).flatMap((other) => [node, other.node])
    this.#edges.choose(Uint32Array.from(edges))
    this.#sigma.scheduleRender()
  }

  #pointOf(node: number): { x: number; y: number } {
    const { x, y } = this.#nodes.getNodeAttributes(String(node))
    return this.#sigma.graphToViewport({ x, y })
  }

  #colour(name: string): string {
    return hexOf(getComputedStyle(this.#container).getPropertyValue(name), this.#container)
  }
}

/** Draws a label at the right of its node, or at the left if it would not fit. */
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

/** Converts a colour of the stylesheet, which may depend on the theme, to the form that sigma and WebGL take. */
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
