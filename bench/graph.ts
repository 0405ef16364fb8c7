import { chromium } from 'playwright-core'
import { startServer } from '../test/acceptance/harness.ts'
import { findChromium } from '../test/browser/find-chromium.ts'

/**
 * npm run bench -- graph [NODES] [TIES] [gpu]: frames a second of the console's graph while it settles and while it is zoomed,
 * beside sigma with its own edges, in Chromium. Without `gpu` WebGL is computed by the processor, which is what a machine
 * without a graphics card has.
 */
export async function run([nodes = '5000', ties = '150000', gpu]: readonly string[]): Promise<void> {
  const executablePath = findChromium()
  if (executablePath === null) throw new Error('Chromium is needed: install it, or set CHROMIUM_PATH')
  const server = await startServer()
  const drawing = gpu === 'gpu' ? [] : ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', ...drawing] })
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    await page.goto(`${server.address}/`)
    console.log(`${nodes} nodes, ${ties} ties, WebGL by ${gpu === 'gpu' ? 'the graphics card' : 'the processor'}`)
    const figures = (await page.evaluate(measure(Number(nodes), Number(ties)))) as Record<string, number>
    for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(44)} ${value.toFixed(1)}`)
  } finally {
    await browser.close()
    await server.stop()
  }
}

/** Runs in the page, with the very modules that the console has. */
const measure = (nodes: number, ties: number): string => `(async () => {
  const { GraphCanvas } = await import('/assets/analysis/graph-canvas.ts')
  const { default: Sigma } = await import('sigma')
  const { UndirectedGraph } = await import('graphology')
  const figures = {}
  const box = () => {
    const made = document.createElement('div')
    made.style.cssText = 'position:fixed;inset:0 auto auto 0;width:1100px;height:750px;background:#fff;z-index:99'
    document.body.append(made)
    return made
  }
  // Nodes of thirty crowds, tied within their own but for one in twenty.
  const [crowds, size] = [30, ${nodes} / 30]
  let seed = 1
  const chance = () => (seed = (seed * 48271) % 2147483647) / 2147483647
  const pairs = new Set()
  while (pairs.size < ${ties}) {
    const a = Math.floor(chance() * ${nodes})
    const crowd = a % crowds
    const b = chance() < 0.05 ? Math.floor(chance() * ${nodes}) : Math.min(${nodes} - 1, crowd + crowds * Math.floor(chance() * size))
    if (a !== b) pairs.add(Math.min(a, b) * ${nodes} + Math.max(a, b))
  }
  const ties = Uint32Array.from([...pairs].flatMap((pair) => [Math.floor(pair / ${nodes}), pair % ${nodes}]))
  const strengths = Float32Array.from(pairs, () => chance())
  const graph = {
    subjectIds: Array.from({ length: ${nodes} }, (_, i) => 'chunk ' + i),
    documentIds: Array.from({ length: ${nodes} }, (_, i) => 'document ' + i),
    ties, strengths, similarities: strengths,
  }
  const colours = graph.subjectIds.map((_, i) => '#' + (0x303030 + (i % crowds) * 0x050403).toString(16))
  const labels = graph.subjectIds

  // How many frames a second there are, and how long the page cannot do anything else at the worst.
  const frames = async (work) => {
    let [count, on, worst, last] = [0, true, 0, performance.now()]
    const tick = () => {
      const now = performance.now()
      worst = Math.max(worst, now - last)
      last = now
      count += 1
      if (on) requestAnimationFrame(tick)
    }
    requestAnimationFrame(tick)
    const started = performance.now()
    await work()
    on = false
    worst = Math.max(worst, performance.now() - last)
    return { rate: (count * 1000) / (performance.now() - started), worst }
  }
  const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

  const first = box()
  let settled
  const whenSettled = new Promise((resolve) => (settled = resolve))
  const before = performance.now()
  const ours = new GraphCanvas(first, graph, { point() {}, choose() {}, open() {}, settled })
  ours.show({ colours, labels, isDim: () => false })
  figures['ours: milliseconds until it stands'] = performance.now() - before
  const while_ = await frames(() => whenSettled)
  figures['ours: frames a second while it settles'] = while_.rate
  const zoomed = await frames(async () => {
    for (let i = 0; i < 8; i += 1) {
      ours.zoom(i % 2 ? 2 : 0.5)
      await rest(600)
    }
  })
  figures['ours: frames a second while it is zoomed'] = zoomed.rate
  figures['ours: longest frame while it is zoomed, ms'] = zoomed.worst
  ours.kill()
  first.remove()

  const second = box()
  const started = performance.now()
  const all = new UndirectedGraph()
  graph.subjectIds.forEach((_, i) => all.addNode(i, { x: chance(), y: chance(), size: 2, color: colours[i] }))
  for (let i = 0; i < ties.length; i += 2) all.mergeEdge(ties[i], ties[i + 1], { size: 0.5, color: '#cccccc' })
  const sigma = new Sigma(all, second)
  figures['sigma alone: milliseconds until it stands'] = performance.now() - started
  const refreshed = performance.now()
  sigma.refresh()
  figures['sigma alone: milliseconds to move its nodes once'] = performance.now() - refreshed
  const alone = await frames(async () => {
    for (let i = 0; i < 8; i += 1) {
      sigma.getCamera().animate({ ratio: sigma.getCamera().ratio * (i % 2 ? 2 : 0.5) }, { duration: 350 })
      await rest(600)
    }
  })
  figures['sigma alone: frames a second while it is zoomed'] = alone.rate
  sigma.kill()
  return figures
})()`
