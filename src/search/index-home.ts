import type { Finding } from '../operator/examine.ts'
import type { SearchIndex } from './search-index.ts'

/**
 * The port: where an index technology keeps what is searched. One index is served; the next may be built beside it and
 * take its place. All of it is derived from the store and can be removed at any time.
 *
 * Rules every adapter keeps (`test/contracts/index-home.ts`):
 * - What is served was made by the rules of text analysis that the home was opened with, to the last term, and from the
 *   store of the same instance. Another index is never searched, and never gone on from.
 * - Until the next one is handed over it changes nothing for those who search, wherever building it stops.
 * - Handing over is one step: whoever opens the served index gets the old one or the new one, whole.
 */
export interface IndexHome {
  /**
   * Who feeds an index: `each` process the one that it alone has open, or `one` process for all, because all search the
   * same one.
   */
  readonly fedBy: 'each' | 'one'
  /** Beyond so many chunks another technology is the better home; its indexes warn of that too. */
  readonly chunksComfortable: number
  /**
   * Opens the index that is served: an empty one where there is none yet, or none of this origin. One that is damaged is
   * opened too; its health says that it needs a rebuild. Where it is kept elsewhere, and that is away, what is opened is
   * unavailable, and `openNewer` brings the index when it is back.
   */
  open(): Promise<SearchIndex>
  /** Opens the index that was handed over, or can be reached, since this home last opened one; null where none was. */
  openNewer(): Promise<SearchIndex | null>
  /** Removes what was served before the index that this home opened last. Nobody here may have it open any more. */
  removeOlder(): Promise<void>
  /** Opens the index that is to be served next: as far as it came when building it was stopped, or empty. */
  openNext(): Promise<NextIndex>
  /** How far what is served is fed, looked at as `inspect` does, but in some milliseconds; null where there is none. Rejects where it cannot be read. */
  position(): Promise<number | null>
  /** What is served, looked at without opening it and beside those who have; null where there is none. */
  inspect(): Promise<InspectedIndex | null>
  /** Removes every index, the next one too. Nobody may have one open. */
  remove(): Promise<void>
}

export interface NextIndex {
  readonly index: SearchIndex
  /** From here on it is the one that is served. It is whole then, and closed. */
  handOver(): Promise<void>
}

export interface InspectedIndex {
  /** How far it is fed; 0 where that cannot be read, for then it has to be fed anew. */
  readonly position: number
  /** That can be found in it. */
  readonly chunks: number
  /** What it takes on disk. */
  readonly bytes: number
  /** What only its technology can tell: what is wrong with it, and what to do. */
  readonly findings: readonly Finding[]
}
