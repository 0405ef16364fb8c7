import { ForceLayout } from './force-layout.ts'
import type { Graph } from './graph-of-edges.ts'

export interface LayoutRequest {
  readonly graph: Pick<Graph, 'subjectIds' | 'edges' | 'strengths'>
  /** Whether every step is shown, or only the last. */
  readonly isShown: boolean
}

export interface LayoutState {
  readonly positions: Float32Array<ArrayBuffer>
  readonly isLast: boolean
}

/** After this many steps little moves. A large graph stops at the time limit, in milliseconds. */
const [stepsMax, untilMs] = [300, 12_000]
/** Updates more often than this are not visible. */
const reportEveryMs = 30

self.addEventListener('message', ({ data: { graph, isShown } }: MessageEvent<LayoutRequest>) => {
  const layout = new ForceLayout(graph)
  const report = (isLast: boolean): void => {
    const positions = layout.positions()
    postMessage({ positions, isLast } satisfies LayoutState, { transfer: [positions.buffer] })
  }
  const started = performance.now()
  let reportedAt = 0
  for (let step = 0; step < stepsMax; step += 1) {
    layout.step()
    const now = performance.now()
    if (now - started > untilMs) break
    if (!isShown || now - reportedAt < reportEveryMs) continue
    reportedAt = now
    report(false)
  }
  report(true)
})
