import { completeVectors } from './complete-vectors.ts'
import type { FedIndex } from './fed-index.ts'
import { feedIndex } from './feed-index.ts'
import type { IndexHome } from './index-home.ts'
import type { IndexSource } from './index-source.ts'

export interface Rebuilt {
  /** The number of documents in the index now, without erased ones. */
  readonly documents: number
  /** The position at which an earlier rebuild was stopped; 0 for a rebuild from the start. */
  readonly resumedAt: number
}

/**
 * Builds the next index from the store, beside the served one, and then hands it over. A running server switches to it
 * within seconds, any other at its next start. A rebuild that was stopped continues where it was.
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
    await copyLateVectors(source, next.index)
    await next.index.checkpoint()
  } finally {
    await next.index.close()
  }
  // Only a complete index is handed over; after a failure above, the served one stays.
  await next.handOver()
  return rebuilt
}

async function fill(
  index: FedIndex,
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

/**
 * Copies vectors that a running server made after their chunks were read. The server finds those that it makes from now
 * on when it takes the index over.
 */
async function copyLateVectors(source: IndexSource, index: FedIndex): Promise<void> {
  for (const profile of await source.activeProfiles()) {
    let after: string | null = null
    do after = (await completeVectors(source, index, profile, after)).next
    while (after !== null)
  }
}
