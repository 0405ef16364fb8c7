import type { Incidents } from '../incidents.ts'
import type { IndexSource } from '../search/index-source.ts'
import type { SearchIndex } from '../search/search-index.ts'
import { type Repeating, repeat } from './repeating.ts'

const lookEveryMs = 1000
/** An index that says nothing for three of these is taken for gone. */
const sayEveryMs = 30_000

export interface PurgeParts {
  readonly source: IndexSource
  readonly index: SearchIndex
  /** Names the index that this process keeps. */
  readonly copyId: string
  /** Several processes keep an index, and come and go. */
  readonly shared: boolean
  /** Whether it falls to this process to change the index. */
  readonly feeds: () => Promise<boolean>
}

/**
 * Once the index has learnt that documents were erased, it is rid of all that is left of them, and the store is told so:
 * an erasure is over when every index that is in use has said it.
 */
export function startPurging({ source, index, copyId, shared, feeds }: PurgeParts, incidents: Incidents): Repeating {
  let said: { readonly through: number; readonly at: number } | null = null
  return repeat(
    'purge-index',
    lookEveryMs,
    async () => {
      const erased = await source.newestErasure()
      if ((erased === 0 && !shared) || !(await feeds())) return false
      const { state, position, purgedThrough } = await index.health()
      if (state !== 'ready') return false
      // Without anything erased an index is rid of all of it, wherever it stands.
      let through = erased === 0 ? position : purgedThrough
      if (through < erased && position >= erased) {
        await index.purge()
        through = (await index.health()).purgedThrough
      }
      const isDue = shared && Date.now() - (said?.at ?? 0) >= sayEveryMs
      if (said?.through === through && !isDue) return false
      said = { through, at: Date.now() }
      await source.reportPurged(copyId, through, said.at)
      return false
    },
    incidents,
  )
}
