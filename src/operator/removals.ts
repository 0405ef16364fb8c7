import { UnavailableError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { earliest } from './carry-over.ts'
import type { ErasureStore, Removal } from './erasure-store.ts'
import type { Operator } from './operator.ts'
import type { Change, Key } from './operator-store.ts'
import {
  DamagedEntry,
  damagedEntry,
  documentsInPart,
  emptyRecordEntry,
  erasurePartName,
  erasuresAmong,
  isRevokedOrExpiring,
  keyEntry,
  keyEntryName,
  parseName,
  parsePart,
  partEntry,
  type RecordedErasure,
  type RemovalRecord,
} from './removal-record.ts'

/** The actor, in the audit log, of repeated removals. */
const actor = 'removal-record'

/** The record may also be empty because nothing was ever removed. The two cases cannot be distinguished. */
export const emptyAfterLoss =
  'the record of erasures and ended keys had no entries, although the store went back in time: if the record was lost, or is at another address, erasures and revocations after that time are unknown'

/** Returns the loss if the record is empty, or has the entry that it was empty after this loss; null otherwise. */
export const wasEmptyAfter = (names: ReadonlySet<string>, loss: string | null): string | null =>
  loss !== null && (names.size === 0 || names.has(emptyRecordEntry(loss))) ? loss : null

/** Small enough that a writer never waits noticeably for one portion. */
const erasedAtOnce = 200
const comparedAtOnce = 500
const endedAtOnce = 200
const listedAtOnce = 500

const notCompared = 'not compared with the store yet'

export interface RemovalsParts {
  /** Null while the instance has no ID, and so no record, because nothing was ever changed. */
  readonly recordOf: () => Promise<RemovalRecord | null>
  readonly erasures: Pick<ErasureStore, 'erasures' | 'hiddenAmong' | 'removal' | 'eraseAgain' | 'takeOver'>
  readonly operator: Operator
  /** Called when documents were hidden. */
  readonly hidden: () => void
  /**
   * The history that the store began after it was rolled back to an earlier state, while operators should still see it.
   */
  readonly loss: () => string | null
  /** Whether this process repeats and writes removals; otherwise it only compares. */
  readonly isWorker: boolean
  readonly now: () => number
  readonly logger: Log
}

/** An erasure that is being written, and its progress. */
interface Written {
  readonly erasureId: string
  part: number
  after: string | null
}

/**
 * Keeps the record of removals (`removal-record.ts`) and the store in step:
 *
 *   compare   once at the start. Removals that are in the record but not in the store are later than the state that the
 *             store was restored to. A worker repeats them; other processes are not ready until that is done
 *   write     from then on. Adds removals of the store to the record. An erasure completes only after it is written
 *
 * Several processes may repeat every step at once. The record is listed before the store is read, because new removals
 * are in the store first.
 */
export class Removals {
  readonly #parts: RemovalsParts
  #record: RemovalRecord | null = null
  /** The known entries. */
  #names = new Set<string>()
  /** Erasures that are complete in the record. */
  #complete = new Set<string>()
  #isCompared = false
  #trouble = notCompared
  /** Erasures to write, oldest first. */
  readonly #queued = new Set<string>()
  #writing: Written | null = null
  #isEnding = false
  /** The loss after which the record was empty. An entry records this before any other entry is written. */
  #emptyAfter: string | null = null
  /** Why the last write failed. */
  #unwritten: string | null = null

  constructor(parts: RemovalsParts) {
    this.#parts = parts
  }

  /** The condition for `/readyz`. */
  condition(): { readonly ok: boolean; readonly detail: string } {
    const about = this.#isCompared
      ? 'the store knows all of the record of erasures and ended keys'
      : `the record of erasures and ended keys: ${this.#trouble}`
    const isEmpty = this.#emptyAfter !== null && this.#emptyAfter === this.#parts.loss()
    const empty = this.#isCompared && isEmpty ? emptyAfterLoss : null
    const more = [empty, this.#unwritten].filter((one) => one !== null)
    return { ok: this.#isCompared, detail: [about, ...more].join('; ') }
  }

  /** The number of erasures that cannot complete before they are written. */
  get waiting(): number {
    return this.#queued.size
  }

  get isCompared(): boolean {
    return this.#isCompared
  }

  /** Called when the store may have gone back in time. */
  compareAgain(): void {
    this.#isCompared = false
    this.#trouble = notCompared
    this.#unwritten = null
    this.#queued.clear()
    this.#writing = null
  }

  /** Ends work in progress after its portion. */
  end(): void {
    this.#isEnding = true
  }

  /** Whether the record has the erasure. If not, it is queued to be written. */
  isWritten(erasureId: string): boolean {
    if (this.#complete.has(erasureId)) return true
    this.#queued.add(erasureId)
    return false
  }

  /** Throws if the record or the store cannot be used; the comparison is then repeated later. */
  async compare(): Promise<void> {
    try {
      await this.#compare()
    } catch (error) {
      this.#trouble = inWords(error)
      throw error
    }
  }

  async #compare(): Promise<void> {
    this.#record = await this.#parts.recordOf()
    this.#names = new Set((await this.#record?.names()) ?? [])
    this.#emptyAfter = wasEmptyAfter(this.#names, this.#parts.loss())
    if (this.#emptyAfter !== null) this.#parts.logger.warn({}, emptyAfterLoss)
    const recorded = erasuresAmong(this.#names)
    this.#complete = new Set(recorded.filter(({ missing }) => missing === null).map(({ erasureId }) => erasureId))
    const erased = await this.#unknownErasures(recorded)
    const ends = await this.#unknownEnds()
    if (erased.length === 0 && ends.length === 0) {
      this.#isCompared = true
      return
    }
    this.#trouble = `the store lacks ${erased.length} erasures and ${ends.length} ends of keys that it has; ${
      this.#parts.isWorker ? 'they are being repeated' : 'a process with the role worker repeats them'
    }`
    if (!this.#parts.isWorker) return
    await this.#endKeys(ends)
    let documents = 0
    const damaged: DamagedEntry[] = []
    for (const erasure of erased) {
      try {
        documents += await this.#eraseAgain(erasure)
      } catch (error) {
        if (!(error instanceof DamagedEntry)) throw error
        damaged.push(error)
      }
      if (this.#isEnding) return
    }
    const [first, ...others] = damaged
    if (first !== undefined) {
      throw others.length === 0 ? first : new DamagedEntry(`${first.message}; and ${others.length} others like it`)
    }
    this.#parts.logger.warn(
      { erasures: erased.length, documents, keys: ends.length },
      'the store is older than the record of erasures and ended keys: the missing ones were repeated',
    )
    this.#isCompared = true
  }

  async #unknownErasures(recorded: readonly RecordedErasure[]): Promise<readonly RecordedErasure[]> {
    const unknown: RecordedErasure[] = []
    for (let from = 0; from < recorded.length; from += comparedAtOnce) {
      const some = recorded.slice(from, from + comparedAtOnce)
      const hidden = new Set(await this.#parts.erasures.hiddenAmong(some.map(({ erasureId }) => erasureId)))
      unknown.push(...some.filter(({ erasureId }) => !hidden.has(erasureId)))
    }
    return unknown
  }

  /** Returns changes that revoke or expire keys as the record says. They never extend the validity of a key. */
  async #unknownEnds(): Promise<readonly Change[]> {
    const ends = new Map<string, { revokedAt: number | null; expiresAt: number | null }>()
    for (const name of this.#names) {
      const named = parseName(name)
      if (named === null || !('end' in named)) continue
      const { keyId, revokedAt, expiresAt } = named.end
      const known = ends.get(keyId) ?? { revokedAt: null, expiresAt: null }
      ends.set(keyId, {
        revokedAt: earliest(known.revokedAt, revokedAt),
        expiresAt: earliest(known.expiresAt, expiresAt),
      })
    }
    if (ends.size === 0) return []
    const keys = await this.#parts.operator.read.keys({})
    return keys.flatMap((key): Change[] => {
      const { keyId } = key
      const end = ends.get(keyId)
      if (end === undefined) return []
      const { revokedAt, expiresAt } = end
      const isShorter = expiresAt !== null && expiresAt < (key.expiresAt ?? Infinity)
      return [
        ...(revokedAt !== null && key.revokedAt === null ? [{ kind: 'key.revoke', keyId, revokedAt } as const] : []),
        ...(isShorter ? [{ kind: 'key.expire', keyId, expiresAt } as const] : []),
      ]
    })
  }

  async #endKeys(changes: readonly Change[]): Promise<void> {
    for (let from = 0; from < changes.length; from += endedAtOnce) {
      await this.#parts.operator.commit(actor, changes.slice(from, from + endedAtOnce))
    }
  }

  /**
   * Returns how many of the documents a restore had brought back. If an entry is missing or damaged, the documents of
   * the others are hidden, and the job is not taken over, so it stays unknown.
   */
  async #eraseAgain({ erasureId, names, missing }: RecordedErasure): Promise<number> {
    const { erasures, hidden, now } = this.#parts
    let last: Removal | null = null
    let fault = missing === null ? null : damagedEntry(missing, erasureId)
    /** An operator removed an entry after the record was listed. Its other entries may be removed next. */
    let wasRemoved = false
    for (const name of names) {
      const removal = await this.#readPart(name).catch((error: unknown) => {
        if (!(error instanceof DamagedEntry)) throw error
        fault ??= error
        return null
      })
      if (removal === null) {
        wasRemoved = true
        continue
      }
      const { documents } = removal
      for (let from = 0; from < documents.length; from += erasedAtOnce) {
        if (this.#isEnding) return 0
        await erasures.eraseAgain({ ...removal, documents: documents.slice(from, from + erasedAtOnce) }, now())
        hidden()
      }
      last = removal
    }
    if (fault !== null) throw fault
    if (last === null) return 0
    if (wasRemoved) throw damagedEntry(`an entry of ${erasureId} in the record of removals is missing`, erasureId)
    const { documents: _, ...job } = last
    const again = await erasures.takeOver(job, { actor, at: now() })
    this.#parts.logger.info({ erasure: erasureId, documents: again }, 'an erasure of the record was repeated')
    return again
  }

  async #readPart(name: string): Promise<Removal | null> {
    const entry = await this.#record!.read(name)
    return entry === null ? null : parsePart(name, entry)
  }

  /** Queues the erasures of the store that are missing from the record: those among the `most` newest, or all. */
  async findUnwritten(most: number = Infinity): Promise<void> {
    let before: string | null = null
    for (let seen = 0; seen < most && !this.#isEnding; ) {
      const limit = Math.min(listedAtOnce, most - seen)
      const page = await this.#parts.erasures.erasures({ before, limit })
      for (const { erasureId, isHidden } of page) if (isHidden) this.isWritten(erasureId)
      if (page.length < limit) return
      seen += page.length
      before = page.at(-1)!.erasureId
    }
  }

  /** Writes the next part of the next erasure. Returns whether there may be more. */
  async writeErasures(): Promise<boolean> {
    if (this.#isEnding) return false
    if (this.#writing === null) {
      const [erasureId] = this.#queued
      if (erasureId === undefined) return false
      this.#writing = { erasureId, part: 1, after: null }
    }
    const { erasureId, part, after } = this.#writing
    const removal = await this.#parts.erasures.removal(erasureId, after, documentsInPart)
    const isLast = removal.documents.length < documentsInPart
    await this.#write(erasurePartName(erasureId, part, isLast), partEntry(removal), `erasure ${erasureId}`)
    if (isLast) {
      this.#complete.add(erasureId)
      this.#writing = null
      this.#queued.delete(erasureId)
    } else this.#writing = { erasureId, part: part + 1, after: removal.documents.at(-1)!.documentId }
    return true
  }

  async writeKeys(): Promise<void> {
    const keys = (await this.#parts.operator.read.keys({})).filter(isRevokedOrExpiring)
    for (const key of keys) await this.#writeKey(key)
  }

  async #writeKey(key: Key): Promise<void> {
    const name = keyEntryName(key)
    if (this.#names.has(name) || this.#isEnding) return
    await this.#write(name, keyEntry(key), `the end of ${key.keyId}`)
  }

  async #write(name: string, entry: string, subject: string): Promise<void> {
    try {
      const record = await this.#ownRecord()
      const mark = this.#emptyAfter === null ? null : emptyRecordEntry(this.#emptyAfter)
      if (mark !== null && !this.#names.has(mark)) {
        await record.write(mark, '{}\n')
        this.#names.add(mark)
      }
      await record.write(name, entry)
    } catch (error) {
      const { size } = this.#queued
      const all = size > 1 ? `; ${size} erasures wait` : ''
      this.#unwritten = `${subject} is waiting to be written: ${inWords(error)}${all}`
      throw error
    }
    this.#unwritten = null
    this.#names.add(name)
  }

  /** An instance with a removal always has an ID, and so a record. */
  async #ownRecord(): Promise<RemovalRecord> {
    this.#record ??= await this.#parts.recordOf()
    if (this.#record === null) throw new UnavailableError('the instance has no name yet')
    return this.#record
  }
}

/** The text is shown by `/readyz`. */
const inWords = (error: unknown): string =>
  error instanceof UnavailableError ? error.message : 'it failed: see the log'
