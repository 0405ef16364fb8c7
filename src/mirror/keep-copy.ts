import { hash } from 'node:crypto'
import { type Account, type ChangePage, type ConsumerClient, pageMax, RefusedByServer } from './consumer-client.ts'
import { canonicalJson, copiedDocument } from './copied-document.ts'
import { type CopiedDocument, type Copy, type CopyPosition, columnNames } from './copy.ts'
import { type CopyEvent, type CopyState, type Pending, pendingOf, stateAfter, stateAt } from './keep-copy-state.ts'

/**
 * Keeps a copy equal to the server: an export, then the feed from where the export began. `keep-copy-state.ts` has the
 * states and transitions.
 *
 * Each step is saved with the `CopyPosition` that it leads to, in one transaction. If the process is killed, it
 * continues from the last step, and repeated documents change nothing. A restarted export replaces the copy range by
 * range in the order of ids, so readers never find it empty.
 */
export interface Mirror {
  readonly client: Pick<ConsumerClient, 'account' | 'changes' | 'documents' | 'documentCount' | 'export'>
  readonly copy: Copy
  readonly report: (progress: MirrorProgress) => void
}

export type MirrorProgress =
  | { readonly about: 'export'; readonly documents: number; readonly total: number | null }
  | { readonly about: 'restart'; readonly why: string }
  | { readonly about: 'follow'; readonly events: number; readonly behindMs: number }
  | { readonly about: 'in step' }

/** How much text to hold before saving without a checkpoint, in UTF-16 code units. */
const heldLengthMax = 8 * 1024 * 1024
const waitSeconds = 30
/** How often to read the entitlements of the application. */
const entitlementsEveryMs = 30_000

/** Runs until the copy is complete, or, if not `once`, until the client's signal aborts it. */
export async function keepCopy(mirror: Mirror, once: boolean): Promise<void> {
  const account = await mirror.client.account()
  const position = (await mirror.copy.position()) ?? startPosition(account)
  if (position.applicationId !== account.application_id) {
    throw new Error(
      `this copy belongs to application ${position.applicationId}, but the key belongs to ${account.application_id}: use another copy or another key`,
    )
  }
  await new CopyKeeper(mirror, position, once).run(account)
}

/** Sends the requests that a state needs, and saves the answers. */
class CopyKeeper {
  readonly #mirror: Mirror
  readonly #once: boolean
  #state: CopyState
  /** The number of events read from the feed since the start. */
  #events = 0

  constructor(mirror: Mirror, position: CopyPosition, once: boolean) {
    this.#mirror = mirror
    this.#once = once
    this.#state = stateAt(position, Date.now())
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
    if (state.kind === 'exporting') this.#apply({ type: 'exported', position: await this.#exportFrom(state.position) })
    else if (state.kind === 'in_step' && this.#once) this.#apply({ type: 'ended' })
    else await this.#followFrom(state.position)
  }

  /** Reads a page of the feed. It is saved at once, or together with the next pages if many events wait. */
  async #followFrom({ changesCursor }: CopyPosition): Promise<void> {
    const { client, copy, report } = this.#mirror
    const page = await client.changes(changesCursor!, this.#once ? 0 : waitSeconds)
    const hasEvents = page.items.length > 0
    this.#apply({ type: 'read', cursor: page.next_cursor, documents: await this.#currentDocuments(page) })
    const pending = pendingOf(this.#state)
    if (page.items.length === pageMax && pending.size < copy.changesAtOnce) return
    // An empty page is saved too, because cursors expire and this one is the newest.
    await copy.save({
      documents: [...pending.values()].filter((one) => one !== null),
      gone: [...pending.keys()].filter((id) => pending.get(id) === null),
      position: this.#state.position,
    })
    this.#apply({ type: 'saved' })
    if (hasEvents) {
      this.#events += page.items.length
      const behindMs = Date.now() - Date.parse(page.items.at(-1)!.ingested_at)
      report({ about: 'follow', events: this.#events, behindMs })
    }
    const isDue = !hasEvents || Date.now() - this.#state.checkedAtMs >= entitlementsEveryMs
    if (isDue && !this.#checkEntitlements(await client.account())) return
    if (hasEvents) return
    this.#apply({ type: 'caught_up' })
    report({ about: 'in step' })
  }

  /** Restarts the export if the entitlements or the copied fields have changed, because that creates no events. */
  #checkEntitlements(account: Account): boolean {
    const isSame = digestOf(account) === this.#state.position.entitlements
    if (!isSame) this.#restart('the entitlements of the application or the copied fields have changed', account, false)
    else if (this.#state.kind === 'following') this.#apply({ type: 'entitled', nowMs: Date.now() })
    return isSame
  }

  #restart(why: string, account: Account, isRefused: boolean): void {
    this.#mirror.report({ about: 'restart', why })
    this.#apply({ type: 'restarted', position: startPosition(account), isRefused, nowMs: Date.now() })
  }

  /** Returns the current state of the documents on a page; null for those that no longer exist. */
  async #currentDocuments(page: ChangePage): Promise<Pending> {
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

  async #exportFrom(from: CopyPosition): Promise<CopyPosition> {
    const { client, copy, report } = this.#mirror
    const total = from.exportCursor === null ? await client.documentCount() : null
    let reached = from
    let held: CopiedDocument[] = []
    let heldLength = 0
    let after = from.exportedThrough
    let documents = 0
    const save = async (next: CopyPosition, isEnd = false): Promise<void> => {
      const last = held.at(-1)?.id ?? after
      const covers = { after, through: isEnd ? null : last }
      await copy.save({ documents: held, gone: [], covers, position: next })
      reached = next
      after = last
      held = []
      heldLength = 0
    }
    for await (const line of client.export(from.exportCursor)) {
      if (line.type === 'start') {
        // Documents after the last checkpoint of a broken response are dropped and read again. Without a checkpoint the
        // new export starts at a later position of the feed, so changes before that are only in the new export.
        documents -= held.length
        held = []
        heldLength = 0
        after = reached.exportedThrough
      } else if (line.type === 'document') {
        const one = copiedDocument(line.document, line.content)
        held.push(one)
        documents++
        heldLength += String(one.body ?? '').length
        if (heldLength >= heldLengthMax) await save(reached)
      } else if (line.type === 'checkpoint') {
        const exportedThrough = held.at(-1)?.id ?? after
        await save({ ...reached, exportCursor: line.cursor, exportedThrough })
        report({ about: 'export', documents, total })
      } else if (line.type === 'end') {
        await save({ ...reached, exportCursor: null, exportedThrough: '', changesCursor: line.changes_cursor }, true)
        report({ about: 'export', documents: line.documents, total: line.documents })
      }
    }
    return reached
  }
}

const startPosition = (account: Account): CopyPosition => ({
  applicationId: account.application_id,
  entitlements: digestOf(account),
  exportCursor: null,
  exportedThrough: '',
  changesCursor: null,
})

/**
 * A digest of the entitlements, whatever their IDs and order, and of the fields that this version copies. Copying a new
 * field creates no events, so it needs a new export.
 */
const digestOf = ({ entitlements }: Account): string => {
  const entries = entitlements.map(({ entitlement_id: _, ...entry }) => canonicalJson(entry))
  return hash('sha256', canonicalJson([entries.sort(), columnNames]), 'base64url')
}
