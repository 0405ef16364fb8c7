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
 * Later deletions are left to the next purge, so the purge ends: no segment is written twice.
 */
export class Purge {
  readonly #parts: PurgeParts
  /** The segments to be rewritten; null before they are known. */
  #worn: Set<WriterSegment> | null = null
  #marking: UsedTerms | null = null
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
    if (this.#worn === null) {
      maintenance.seal(file)
      this.#worn = new Set(published.list.filter(({ aliveChunks, image }) => aliveChunks < image.chunks))
      return true
    }
    const next = published.list.find((segment) => this.#worn!.has(segment))
    if (next !== undefined) {
      maintenance.rewrite(next)
      return false
    }
    this.#marking ??= new UsedTerms(this.#parts.dictionary.size)
    if (this.#marking.markNext(published.list)) return true
    this.#forgetTerms(file, this.#marking)
    file.forgetDeleted(position)
    this.abandon()
    return false
  }

  /** Ends the purge: the work is done, a later purge does the rest, or the index was cleared. */
  abandon(): void {
    this.#isDone = true
    this.#resolve()
  }

  /** The file first: after a crash between the two, the texts are only in memory that is gone. */
  #forgetTerms(file: DurableFile, used: UsedTerms): void {
    const { dictionary } = this.#parts
    const gone = new Set(used.unused().filter((term) => !dictionary.isForgotten(term)))
    if (gone.size === 0) return
    const blocks = file.termBlocks()
    const touched = new Set<number>()
    let at = 0
    for (const term of gone) {
      while (blocks[at]!.first + blocks[at]!.count <= term) at++
      touched.add(at)
    }
    file.transaction(() => {
      for (const number of touched) {
        const { first, count } = blocks[number]!
        file.replaceTerms(first, dictionary.pack(first, first + count, gone))
      }
    })
    dictionary.forget(gone)
  }
}

/** Finds the terms and values that some segment contains, one segment at a time. Newer terms count as used. */
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
    for (const numbers of held(next.image)) for (const number of numbers) this.#used[number] = 1
    return true
  }

  unused(): number[] {
    const numbers: number[] = []
    for (let number = 1; number < this.#used.length; number++) if (this.#used[number] === 0) numbers.push(number)
    return numbers
  }
}

const held = ({ term, documentAuthor, topics, tags, classifications }: SegmentData) => [
  term,
  documentAuthor,
  topics,
  tags,
  classifications,
]
