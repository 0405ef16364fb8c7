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

/** The layout hardly changes after this many steps. Large graphs stop earlier, at the time limit. */
const [stepsMax, timeLimitMs] = [300, 12_000]
/** More frequent updates would not be visible. */
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
    if (now - started > timeLimitMs) break
    if (!isShown || now - reportedAt < reportEveryMs) continue
    reportedAt = now
    report(false)
  }
  report(true)
})
