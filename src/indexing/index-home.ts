import type { Finding } from '../operator/examine.ts'
import type { SearchIndex } from './fed-index.ts'

/**
 * The port: where an index technology keeps its indexes. One index is served; the next one may be built beside it and
 * then replace it. An index is derived from the store and can be removed at any time.
 *
 * Rules that every adapter keeps (`test/contracts/index-home.ts`):
 *
 * - The served index was made by exactly the text-analysis rules that the home was opened with, and from the store of
 *   the same instance. Any other index is never searched and never continued.
 * - The next index changes nothing for searches until it is handed over, even if building it stops halfway.
 * - Handing over is atomic: a process that opens the served index gets the whole old one or the whole new one.
 * - The index of another version of the rules stays as it is, for its own version to continue, until `removeVersion`.
 */
export interface IndexHome {
  /**
   * `each`: every process feeds an index of its own. `one`: one process feeds for all, because all search the same
   * index.
   */
  readonly fedBy: 'each' | 'one'
  /**
   * Identifies how indexes are made: processes of two versions have indexes side by side. Null if each process has an
   * index of its own anyway.
   */
  readonly version: string | null
  /** Above this number of chunks another technology is the better choice, and the index warns about it. */
  readonly chunksComfortable: number
  /**
   * Opens the served index. It is empty if there is none yet, or none of this origin. A damaged index is opened too;
   * its health says that it needs a rebuild. If the index is remote and cannot be reached, every call on it is
   * unavailable, and `openNewer` returns the index when it is back.
   */
  open(): Promise<SearchIndex>
  /**
   * Opens the index that was handed over, or became reachable, since this home last opened one; null if there is none.
   */
  openNewer(): Promise<SearchIndex | null>
  /**
   * Removes the indexes that were served before the one that this home opened last. This process must have closed them.
   */
  removeOlder(): Promise<void>
  /** Opens the index that is to be served next: empty, or as far as an earlier rebuild has built it. */
  openNext(): Promise<NextIndex>
  /**
   * Removes the next index after building it was stopped. Returns false if the home knows that it is open; no process
   * may have a shared one open.
   */
  removeNext(): Promise<boolean>
  /**
   * The position of the served index, read as `inspect` does but in some milliseconds; null if there is none. Rejects
   * if it cannot be read.
   */
  position(): Promise<number | null>
  /** Inspects the served index without opening it, also while other processes use it; null if there is none. */
  inspect(): Promise<InspectedIndex | null>
  /** Findings about the place where indexes are kept, for any index. Rejects if it cannot be reached. */
  examine(): Promise<readonly Finding[]>
  /**
   * Indexes of other versions, made from the same store: processes of those versions may use them, or go back to them.
   */
  otherVersions(): Promise<readonly IndexOfOtherVersion[]>
  /**
   * Removes the indexes of another version. No process of that version may use them any more, and the index that is
   * open here must be complete.
   */
  removeVersion(version: string | null): Promise<void>
  /** Removes every index, including the next one and those of other versions. No process may have one open. */
  remove(): Promise<void>
}

export interface NextIndex {
  readonly index: SearchIndex
  /** Makes this the served index. It must be complete and closed. */
  handOver(): Promise<void>
}

export interface IndexOfOtherVersion {
  /** Null for an index from the time before versions had names. */
  readonly version: string | null
  /** Their size on disk. */
  readonly bytes: number
}

export interface InspectedIndex {
  /** The position of the index; 0 if it cannot be read, because then the index has to be fed from the start. */
  readonly position: number
  /** The number of chunks that can be found. */
  readonly chunks: number
  /** The size on disk. */
  readonly bytes: number
  /** Findings that only the technology can make: a fault, and what to do about it. */
  readonly findings: readonly Finding[]
}
