import { completeVectors } from './complete-vectors.ts'
import { feedIndex } from './feed-index.ts'
import type { IndexHome } from './index-home.ts'
import type { IndexSource } from './index-source.ts'
import type { SearchIndex } from './search-index.ts'

export interface Rebuilt {
  /** That the index has now of the store, without those that were erased. */
  readonly documents: number
  /** Where an earlier rebuild was stopped; 0 for one from the beginning. */
  readonly resumedAt: number
}

/**
 * Builds the next index beside the one that is served, from what the store has, and then hands it over: a running server
 * takes it within seconds, another one at its next start. Stopped and started again, it goes on.
 */
export async function rebuildIndex(
  home: IndexHome,
  source: IndexSource,
  report: (state: { done: number; total: number; documents: number }) => void,
): Promise<Rebuilt> {
  const next = await home.openNext()
  let rebuilt: Rebuilt
  try {
    rebuilt = await fill(next.index, home.fedBy, source, report)
    await takeLateVectors(source, next.index)
    await next.index.checkpoint()
  } finally {
    await next.index.close()
  }
  // Only a whole index is handed over; a failure above leaves the served one where it was.
  await next.handOver()
  return rebuilt
}

async function fill(
  index: SearchIndex,
  fedBy: IndexHome['fedBy'],
  source: IndexSource,
  report: (state: { done: number; total: number; documents: number }) => void,
): Promise<Rebuilt> {
  const health = await index.health()
  if (health.state === 'needs_rebuild') await index.clear()
  const resumedAt = health.state === 'needs_rebuild' ? 0 : health.position
  let position = resumedAt
  let documents = 0
  let isBehind = false
  for (;;) {
    const step = await feedIndex(source, index, position, fedBy, { isBehind })
    isBehind = step.isBehind
    if (step.documents === 0) return { documents, resumedAt }
    position = step.position
    documents += step.documents - step.erased
    report({ done: position, total: await source.newestRevision(), documents })
  }
}

/** Vectors that a running server made after their chunks were read. What it makes from now on it finds when it takes over. */
async function takeLateVectors(source: IndexSource, index: SearchIndex): Promise<void> {
  for (const profile of await source.madeProfiles()) {
    let after: string | null = null
    do after = (await completeVectors(source, index, profile, after)).next
    while (after !== null)
  }
}
