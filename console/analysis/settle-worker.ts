import type { Graph } from './graph-of-edges.ts'
import { Settling } from './settle.ts'

export interface SettleOrder {
  readonly graph: Pick<Graph, 'subjectIds' | 'ties' | 'strengths'>
  /** Whether the way there is shown, or its end alone. */
  readonly isShown: boolean
}

export interface Settled {
  readonly places: Float32Array<ArrayBuffer>
  readonly isLast: boolean
}

/** After so many steps little moves any more; a large graph stops when it has had its time. */
const [stepsMax, untilMs] = [300, 12_000]
/** No more often than somebody can see. */
const tellEveryMs = 30

self.addEventListener('message', ({ data: { graph, isShown } }: MessageEvent<SettleOrder>) => {
  const settling = new Settling(graph)
  const tell = (isLast: boolean): void => {
    const places = settling.places()
    postMessage({ places, isLast } satisfies Settled, { transfer: [places.buffer] })
  }
  const started = performance.now()
  let told = 0
  for (let step = 0; step < stepsMax; step += 1) {
    settling.step()
    const now = performance.now()
    if (now - started > untilMs) break
    if (!isShown || now - told < tellEveryMs) continue
    told = now
    tell(false)
  }
  tell(true)
})
