import { catalogRows } from '../../../document/rows.ts'
import type { DurableFile } from '../file/durable-file.ts'
import type { SegmentData } from '../format/segment-data.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import type { Maintenance } from './maintenance.ts'
import type { PublishedSegments, WriterSegment } from './published-segments.ts'

interface PurgeParts {
  readonly published: PublishedSegments
  readonly dictionary: TermDictionary
  readonly maintenance: Maintenance
  /** The position of the index when the purge was requested. */
  readonly position: number
}

/**
 * Removes all data that was retired before from memory and file, one short step at a time between batches, while
 * searches and batches go on:
 *
 *   every segment with a deleted chunk is rewritten without it, by the merge thread
 *   -> the texts of terms that no segment contains any more are overwritten
 *   -> the file keeps nothing of the deleted data, and its log is truncated
 *
 * Later deletions are left to the next purge. So no segment is rewritten twice, and the purge ends.
 */
export class Purge {
  readonly #parts: PurgeParts
  /** The segments that are to be rewritten; null before they are known. */
  #segmentsWithDeletions: Set<WriterSegment> | null = null
  #usedTerms: UsedTerms | null = null
  #isDone = false
  #resolve!: () => void
  readonly done = new Promise<void>((resolve) => {
    this.#resolve = resolve
  })

  constructor(parts: PurgeParts) {
    this.#parts = parts
  }

  /**
   * Called when there is nothing else to do. Returns false while it waits for the merge thread, and when it is done.
   */
  step(file: DurableFile): boolean {
    const { published, maintenance, position } = this.#parts
    if (this.#isDone || maintenance.busy) return false
    if (this.#segmentsWithDeletions === null) {
      maintenance.seal(file)
      this.#segmentsWithDeletions = new Set(published.list.filter(({ liveChunks, data }) => liveChunks < data.chunks))
      return true
    }
    const next = published.list.find((segment) => this.#segmentsWithDeletions!.has(segment))
    if (next !== undefined) {
      maintenance.rewrite(next)
      return false
    }
    this.#usedTerms ??= new UsedTerms(this.#parts.dictionary.size)
    if (this.#usedTerms.markNext(published.list)) return true
    this.#forgetTerms(file, this.#usedTerms)
    file.purgeDeleted(position)
    this.end()
    return false
  }

  /** Ends the purge, because its work is done, a later purge has done it, or the index was cleared. */
  end(): void {
    this.#isDone = true
    this.#resolve()
  }

  /**
   * Overwrites the texts in the file first: if the process ends before it overwrites those in memory, they are lost
   * with it.
   */
  #forgetTerms(file: DurableFile, used: UsedTerms): void {
    const { dictionary } = this.#parts
    const unused = new Set(used.unused().filter((term) => !dictionary.isForgotten(term)))
    if (unused.size === 0) return
    const blocks = file.termBlocks()
    const changedBlocks = new Set<number>()
    let at = 0
    for (const term of unused) {
      while (blocks[at]!.first + blocks[at]!.count <= term) at++
      changedBlocks.add(at)
    }
    file.transaction(() => {
      for (const number of changedBlocks) {
        const { first, count } = blocks[number]!
        file.replaceTerms(first, dictionary.pack(first, first + count, unused))
      }
    })
    dictionary.forget(unused)
  }
}

/**
 * Finds the terms and values that any segment contains, one segment at a time. Terms that are added later count as
 * used.
 */
class UsedTerms {
  readonly #used: Uint8Array
  readonly #marked = new Set<WriterSegment>()

  constructor(size: number) {
    this.#used = new Uint8Array(size)
  }

  /** Returns false when all segments have been read. */
  markNext(segments: readonly WriterSegment[]): boolean {
    const next = segments.find((segment) => !this.#marked.has(segment))
    if (next === undefined) return false
    this.#marked.add(next)
    for (const numbers of numbersIn(next.data)) for (const number of numbers) this.#used[number] = 1
    return true
  }

  unused(): number[] {
    const numbers: number[] = []
    for (let number = 1; number < this.#used.length; number++) if (this.#used[number] === 0) numbers.push(number)
    return numbers
  }
}

/** The numbers of the dictionary that a segment contains: terms, and texts of catalog columns. */
const numbersIn = ({ term, catalog }: SegmentData) => [
  term,
  ...textColumns.map((property) => catalog[property]!.values),
]
const textColumns = catalogRows.filter(({ kind }) => kind !== 'integer').map(({ property }) => property)
