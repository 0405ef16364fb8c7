import type { Incidents } from '../incidents.ts'
import type { IndexSource } from '../search/index-source.ts'
import type { SearchIndex } from '../search/search-index.ts'
import type { WriteNews } from '../write-news.ts'
import { type Repeating, repeat } from './repeating.ts'

const pauses = { everyMs: 1000, whenIdleMs: 2000 }
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
  readonly news?: WriteNews | null
}

/**
 * Once the index has learnt that documents were erased, it is rid of all that is left of them, and the store is told so:
 * an erasure is over when every index that is in use has said it.
 */
export function startPurging(
  { source, index, copyId, shared, feeds, news = null }: PurgeParts,
  incidents: Incidents,
): Repeating {
  let said: { readonly through: number; readonly at: number } | null = null
  return repeat(
    'purge-index',
    { ...pauses, news },
    async () => {
      const erased = await source.newestErasure()
      if (erased === 0 && !shared) return false
      // To ask an index how it is takes time, and now and then is enough: another one may be served by now.
      if (said !== null && said.through >= erased && Date.now() - said.at < sayEveryMs) return false
      if (!(await feeds())) return false
      const { state, position, purgedThrough } = await index.health()
      if (state !== 'ready') return pauses.everyMs
      // Without anything erased an index is rid of all of it, wherever it stands.
      let through = erased === 0 ? position : purgedThrough
      if (through < erased && position >= erased) {
        await index.purge()
        through = (await index.health()).purgedThrough
      }
      const at = Date.now()
      const isDue = said?.through !== through || (shared && at - said.at >= sayEveryMs)
      if (isDue) await source.reportPurged(copyId, through, at)
      if (isDue || through >= erased) said = { through, at }
      // That the index has come so far is told by nobody.
      return through < erased && pauses.everyMs
    },
    incidents,
  )
}
