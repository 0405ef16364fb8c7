import { setTimeout as delay } from 'node:timers/promises'
import type { Backlog } from '../indexing/index-source.ts'
import { Progress } from './progress.ts'

const pollEveryMs = 100
/** An unresponsive embedding endpoint must not keep a server from serving. */
const stallMaxMs = 30_000

/** Shows progress until the index has caught up with the store, stalls, or `ended` resolves. */
export async function waitForIndex(backlog: () => Promise<Backlog>, ended: Promise<unknown>): Promise<void> {
  const bar = new Progress()
  let isEnding = false
  void ended.then(() => {
    isEnding = true
  })
  const startedAt = performance.now()
  let most = 0
  let mostVectors = 0
  let leftBefore = Number.POSITIVE_INFINITY
  let movedAt = performance.now()
  for (;;) {
    const { documents, waitingVectors } = await backlog()
    const left = documents + waitingVectors
    most = Math.max(most, left)
    if (left !== leftBefore) movedAt = performance.now()
    leftBefore = left
    mostVectors = Math.max(mostVectors, waitingVectors)
    const perSecond = (mostVectors - waitingVectors) / ((performance.now() - startedAt) / 1000)
    const pace = perSecond > 0 ? `, ${Math.max(1, Math.round(perSecond))} vectors per second` : ''
    const state = { done: most - left, total: most, text: `indexing the sample${pace}` }
    const isStalled = performance.now() - movedAt > stallMaxMs
    if (left === 0 || isEnding || isStalled) return bar.end(state)
    bar.show(state)
    await delay(pollEveryMs)
  }
}
