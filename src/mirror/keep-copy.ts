import { hash } from 'node:crypto'
import { type Account, type ChangePage, type ConsumerClient, pageMax, RefusedByServer } from './consumer-client.ts'
import { canonicalJson, copiedDocument } from './copied-document.ts'
import { type CopiedDocument, type Copy, columnNames, type Place } from './copy.ts'
import { type CopyEvent, type CopyState, type Pending, pendingOf, stateAfter, stateAt } from './keep-copy-state.ts'

/**
 * Keeps a copy equal to the server: an export, then the feed from where the export began. `keep-copy-state.ts` has the
 * states and transitions.
 *
 * Each step is saved with the `Place` that it leads to, in one transaction. If the process is killed, it continues from
 * the last step, and repeated documents change nothing. A restarted export replaces the copy range by range in the
 * order of ids, so readers never find it empty.
 */
export interface Mirror {
  readonly client: Pick<ConsumerClient, 'account' | 'changes' | 'documents' | 'documentCount' | 'export'>
  readonly copy: Copy
  readonly tell: (report: MirrorProgress) => void
}

export type MirrorProgress =
  | { readonly about: 'export'; readonly documents: number; readonly total: number | null }
  | { readonly about: 'restart'; readonly why: string }
  | { readonly about: 'follow'; readonly events: number; readonly behindMs: number }
  | { readonly about: 'in step' }

/** Bytes of text to hold before saving without a checkpoint. */
const heldBytesMax = 8 * 1024 * 1024
const waitSeconds = 30
/** How often to read the entitlements of the application. */
const entitlementsEveryMs = 30_000

/** Runs until the copy is complete, or, if not `once`, until the client's signal aborts it. */
export async function keepCopy(mirror: Mirror, once: boolean): Promise<void> {
  const account = await mirror.client.account()
  const place = (await mirror.copy.place()) ?? begin(account)
  if (place.applicationId !== account.application_id) {
    throw new Error(
      `this copy belongs to application ${place.applicationId}, and the key is of ${account.application_id}: name another copy`,
    )
  }
  await new CopyKeeper(mirror, place, once).run(account)
}

/** Sends the requests that a state needs, and saves the answers. */
class CopyKeeper {
  readonly #mirror: Mirror
  readonly #once: boolean
  #state: CopyState
  /** Events read from the feed since the start. */
  #events = 0

  constructor(mirror: Mirror, place: Place, once: boolean) {
    this.#mirror = mirror
    this.#once = once
    this.#state = stateAt(place, Date.now())
  }

  async run(account: Account): Promise<void> {
    this.#checkEntitlements(account)
    while (this.#state.kind !== 'ended') {
      try {
        await this.#step(this.#state)
      } catch (error) {
        if (!(error instanceof RefusedByServer) || !['cursor_expired', 'invalid_cursor'].includes(error.code))
          throw error
        if (this.#state.wasRefused) throw error
        this.#restart(error.message, await this.#mirror.client.account(), true)
      }
    }
  }

  async #step(state: CopyState): Promise<void> {
    if (state.kind === 'exporting') this.#apply({ type: 'exported', place: await this.#exportFrom(state.place) })
    else if (state.kind === 'in_step' && this.#once) this.#apply({ type: 'ended' })
    else await this.#followFrom(state.place)
  }

  /** Reads a page of the feed. It is saved at once, or together with the next pages if many events wait. */
  async #followFrom({ changesCursor }: Place): Promise<void> {
    const { client, copy, tell } = this.#mirror
    const page = await client.changes(changesCursor!, this.#once ? 0 : waitSeconds)
    const hasEvents = page.items.length > 0
    this.#apply({ type: 'read', cursor: page.next_cursor, documents: await this.#nowOf(page) })
    const pending = pendingOf(this.#state)
    if (page.items.length === pageMax && pending.size < copy.changesAtOnce) return
    // Also after an empty page: cursors expire, and this one is the newest.
    await copy.save({
      documents: [...pending.values()].filter((one) => one !== null),
      gone: [...pending.keys()].filter((id) => pending.get(id) === null),
      place: this.#state.place,
    })
    this.#apply({ type: 'saved' })
    if (hasEvents) {
      this.#events += page.items.length
      const behindMs = Date.now() - Date.parse(page.items.at(-1)!.ingested_at)
      tell({ about: 'follow', events: this.#events, behindMs })
    }
    const isDue = !hasEvents || Date.now() - this.#state.checkedAtMs >= entitlementsEveryMs
    if (isDue && !this.#checkEntitlements(await client.account())) return
    if (hasEvents) return
    this.#apply({ type: 'caught_up' })
    tell({ about: 'in step' })
  }

  /** Restarts the export if the entitlements or the copied fields have changed, because that creates no event. */
  #checkEntitlements(account: Account): boolean {
    const isSame = digestOf(account) === this.#state.place.entitlements
    if (!isSame) this.#restart('the entitlements of the application or the copied fields have changed', account, false)
    else if (this.#state.kind === 'following') this.#apply({ type: 'entitled', nowMs: Date.now() })
    return isSame
  }

  #restart(why: string, account: Account, isRefused: boolean): void {
    this.#mirror.tell({ about: 'restart', why })
    this.#apply({ type: 'restarted', place: begin(account), isRefused, nowMs: Date.now() })
  }

  /** The current state of the documents on a page; null for those that no longer exist. */
  async #nowOf(page: ChangePage): Promise<Pending> {
    const ids = [...new Set(page.items.map((one) => one.document_id))]
    const { documents, missing } = await this.#mirror.client.documents(ids)
    return new Map([
      ...documents.map((one): [string, CopiedDocument] => [one.id, copiedDocument(one, one.content)]),
      ...missing.map((id): [string, null] => [id, null]),
    ])
  }

  #apply(event: CopyEvent): void {
    this.#state = stateAfter(this.#state, event)
  }

  async #exportFrom(from: Place): Promise<Place> {
    const { client, copy, tell } = this.#mirror
    const total = from.exportCursor === null ? await client.documentCount() : null
    let reached = from
    let held: CopiedDocument[] = []
    let heldBytes = 0
    let after = from.exportedThrough
    let documents = 0
    const save = async (next: Place, isEnd = false): Promise<void> => {
      const last = held.at(-1)?.id ?? after
      const covers = { after, through: isEnd ? null : last }
      await copy.save({ documents: held, gone: [], covers, place: next })
      reached = next
      after = last
      held = []
      heldBytes = 0
    }
    for await (const line of client.export(from.exportCursor)) {
      if (line.type === 'start') {
        // Documents after the last checkpoint of a broken answer are repeated, and must be: without a checkpoint the
        // export starts at a later position of the feed, which does not have the changes before it.
        documents -= held.length
        held = []
        heldBytes = 0
        after = reached.exportedThrough
      } else if (line.type === 'document') {
        const one = copiedDocument(line.document, line.content)
        held.push(one)
        documents++
        heldBytes += String(one.body ?? '').length
        if (heldBytes >= heldBytesMax) await save(reached)
      } else if (line.type === 'checkpoint') {
        const exportedThrough = held.at(-1)?.id ?? after
        await save({ ...reached, exportCursor: line.cursor, exportedThrough })
        tell({ about: 'export', documents, total })
      } else if (line.type === 'end') {
        await save({ ...reached, exportCursor: null, exportedThrough: '', changesCursor: line.changes_cursor }, true)
        tell({ about: 'export', documents: line.documents, total: line.documents })
      }
    }
    return reached
  }
}

const begin = (account: Account): Place => ({
  applicationId: account.application_id,
  entitlements: digestOf(account),
  exportCursor: null,
  exportedThrough: '',
  changesCursor: null,
})

/**
 * A digest of the entitlements, regardless of entry names and order, and of the fields that this version copies: a field
 * that an earlier version left out makes no event, so the export has to bring it.
 */
const digestOf = ({ entitlements }: Account): string => {
  const entries = entitlements.map(({ entitlement_id: _, ...entry }) => canonicalJson(entry))
  return hash('sha256', canonicalJson([entries.sort(), columnNames]), 'base64url')
}
