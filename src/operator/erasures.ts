import { type Claim, claimFor } from '../access/claim.ts'
import { TidemarkError } from '../platform/errors.ts'
import { firstIdAt, newId } from '../platform/ids.ts'
import { quoted } from '../platform/quoted.ts'
import type { AuthorPart, Erasure, ErasureRequest, ErasureStore, Identity, Selection } from './erasure-store.ts'

/** The maximum number of documents selected by id. One transaction hides all of them. */
export const documentIdsMax = 1000

function refuseTooMany(selection: Selection): void {
  if (!('documentIds' in selection) || selection.documentIds.length <= documentIdsMax) return
  throw new TidemarkError('invalid_request', `give at most ${documentIdsMax} document IDs at once`)
}

/** Small enough that a writer never waits noticeably for one portion. */
const hiddenAtOnce = 200
const liftedAtOnce = 2000

/** Above every document id. The deletion of a dataset covers all its documents. */
const pastAllIds = firstIdAt('doc', 2 ** 50 - 1)

type DatasetErasure = Omit<ErasureRequest, 'erasureId' | 'mustExist'>

export interface ErasuresParts {
  readonly store: ErasureStore
  /**
   * Called when documents are hidden, so that the rest of the work can begin. Resolves when this process's index no
   * longer finds them.
   */
  readonly hidden: () => Promise<void>
}

/** Erasures as an operator requests them, by the admin API or the command line. */
export class Erasures {
  readonly #parts: ErasuresParts

  constructor(parts: ErasuresParts) {
    this.#parts = parts
  }

  /** Resolves when no reader finds the documents. The worker does the rest. */
  async begin(actor: string, request: Omit<ErasureRequest, 'erasureId'>, claim: Claim | null = null): Promise<Erasure> {
    refuseTooMany(request.selection)
    const erasureId = newId('ers')
    const mark = { actor, at: Date.now() }
    await this.#parts.store.begin({ ...request, erasureId }, mark, claimFor(claim, erasureId))
    return this.hide(erasureId, request.selection)
  }

  /** Hides the remaining documents of an erasure that has begun. */
  async hide(erasureId: string, selection: Selection): Promise<Erasure> {
    const { store, hidden } = this.#parts
    // A dataset is hidden as a whole, however many documents it has.
    if ('author' in selection) while (await store.hide(erasureId, hiddenAtOnce, Date.now()));
    await hidden()
    return this.erasure(erasureId)
  }

  /** Erases all documents that a dataset has now. */
  async eraseDataset(actor: string, datasetId: string, request: Omit<DatasetErasure, 'selection'>): Promise<Erasure> {
    const selection = datasetNow(datasetId, request.deletesDataset)
    return this.begin(actor, { ...request, selection, mustExist: false })
  }

  /** The number of documents that `begin` would erase. */
  async count(selection: Selection): Promise<number> {
    refuseTooMany(selection)
    return this.#parts.store.count(selection)
  }

  async erasure(erasureId: string): Promise<Erasure> {
    const erasure = await this.#parts.store.erasure(erasureId)
    if (erasure === null) throw new TidemarkError('not_found', `there is no erasure ${quoted(erasureId)}`)
    return erasure
  }

  erasures(page: { readonly before: string | null; readonly limit: number }): Promise<readonly Erasure[]> {
    return this.#parts.store.erasures(page)
  }

  async lift(actor: string, identity: Identity): Promise<void> {
    if (await this.#parts.store.lift(identity, { actor, at: Date.now() })) return
    throw new TidemarkError('not_found', 'there is no tombstone for this document')
  }

  /** Returns the number of documents that can be sent again. */
  async liftAll(actor: string, erasureId: string, { dryRun }: { readonly dryRun: boolean }): Promise<number> {
    const { store } = this.#parts
    const { isHidden, removed, documents } = await this.erasure(erasureId)
    if (!isHidden || removed < documents) {
      throw new TidemarkError('conflict', 'the erasure is still removing documents: try again when it has finished')
    }
    const tombstones = await store.tombstones(erasureId)
    if (dryRun || tombstones === 0) return tombstones
    const mark = { actor, at: Date.now() }
    let after: string | null = null
    do after = await store.liftAll(erasureId, after, liftedAtOnce, mark)
    while (after !== null)
    return tombstones
  }
}

/** Later documents have ids above this one. */
const now = (): string => firstIdAt('doc', Date.now() + 1)

/** All documents that a dataset has now, or will ever have if it is deleted. */
export const datasetNow = (datasetId: string, isDeleted = false): Selection => ({
  dataset: { datasetId, below: isDeleted ? pastAllIds : now() },
})

/** All documents that an author has now. */
export const authorNow = (author: Omit<AuthorPart, 'below'>): Selection => ({ author: { ...author, below: now() } })
