import { hash } from 'node:crypto'
import { type Account, type ChangePage, type ConsumerClient, pageMax, RefusedByServer } from './consumer-client.ts'
import { canonicalJson, copiedDocument } from './copied-document.ts'
import type { CopiedDocument, Copy, Place } from './copy.ts'

/**
 * Keeps a copy equal to what the server has: an export, then the feed from where it began.
 *
 *   no place, or another beginning is needed -> export, a checkpoint after the other -> follow, a page after the other
 *
 * Each step is saved with the place that it leads to, in one transaction: whenever this is killed, it goes on from the
 * last step, and what comes again changes nothing. The export is begun anew
 *   - where the feed no longer has what came after the place (410), or the server does not know the cursor (400),
 *   - where the application is entitled to something else than when its export began: that makes no event.
 * An export that is begun anew replaces the copy piece by piece, in the order of ids: readers of the copy never find it empty.
 */
export interface Mirror {
  readonly client: ConsumerClient
  readonly copy: Copy
  readonly tell: (news: MirrorNews) => void
}

export type MirrorNews =
  | { readonly about: 'export'; readonly documents: number; readonly total: number | null }
  | { readonly about: 'anew'; readonly why: string }
  | { readonly about: 'follow'; readonly events: number; readonly behindMs: number }
  | { readonly about: 'in step' }

/** Bytes of text that are held before they are saved, though no checkpoint has come. */
const heldBytesMax = 8 * 1024 * 1024
const waitSeconds = 30
/** How often is asked what the application is entitled to. */
const entitlementsEveryMs = 30_000

/** Until the copy is in step, or, when not `once`, until the client's signal aborts it. */
export async function keepCopy({ client, copy, tell }: Mirror, once: boolean): Promise<void> {
  const account = await client.account()
  let place = (await copy.place()) ?? begin(account)
  if (place.applicationId !== account.application_id) {
    throw new Error(
      `this is the copy of application ${place.applicationId}, and the key is of ${account.application_id}: name another copy`,
    )
  }
  let askedAt = Date.now()
  let events = 0
  /** What was read and is not saved yet, with the place that it leads to. */
  const pending = new Map<string, CopiedDocument | null>()
  /** Begun again for this reason, and nothing was read from the feed since: it would be so again. */
  let doubted = false
  const anew = (why: string, from: Account): void => {
    tell({ about: 'anew', why })
    pending.clear()
    place = begin(from)
  }
  const isEntitled = async (): Promise<boolean> => {
    const now = await client.account()
    askedAt = Date.now()
    if (digestOf(now) === place.entitlements) return true
    anew('the application is entitled to something else', now)
    return false
  }
  if (place.entitlements !== digestOf(account)) anew('the application is entitled to something else', account)
  for (;;) {
    try {
      if (place.changesCursor === null) place = await exportFrom(place)
      const page = await client.changes(place.changesCursor!, once ? 0 : waitSeconds)
      doubted = false
      place = { ...place, changesCursor: page.next_cursor }
      for (const [id, document] of await nowOf(page)) pending.set(id, document)
      const isFull = page.items.length === pageMax
      if (isFull && pending.size < copy.changesAtOnce) continue
      // After an empty page too: cursors age, and this one is as young as can be.
      await copy.save({
        documents: [...pending.values()].filter((one) => one !== null),
        gone: [...pending.keys()].filter((id) => pending.get(id) === null),
        place,
      })
      pending.clear()
      if (page.items.length > 0) {
        events += page.items.length
        tell({ about: 'follow', events, behindMs: Date.now() - Date.parse(page.items.at(-1)!.ingested_at) })
      }
      const isDue = page.items.length === 0 || Date.now() - askedAt >= entitlementsEveryMs
      if (isDue && !(await isEntitled())) continue
      if (page.items.length > 0) continue
      tell({ about: 'in step' })
      if (once) return
    } catch (error) {
      if (!(error instanceof RefusedByServer) || !['cursor_expired', 'invalid_cursor'].includes(error.code)) throw error
      if (doubted) throw error
      doubted = true
      anew(error.message, await client.account())
    }
  }

  /** The documents that a page names, as they are now; null where they are no more. */
  async function nowOf(page: ChangePage): Promise<[string, CopiedDocument | null][]> {
    const { documents, missing } = await client.documents([...new Set(page.items.map((one) => one.document_id))])
    return [
      ...documents.map((one): [string, CopiedDocument] => [one.id, copiedDocument(one, one.content)]),
      ...missing.map((id): [string, null] => [id, null]),
    ]
  }

  async function exportFrom(from: Place): Promise<Place> {
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
        // What came behind the last checkpoint of an answer that broke off comes again, and has to: where there was no
        // checkpoint yet, the export begins at a later place of the feed, which tells nothing of what changed before.
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

/** Of what may be read, whatever the entries are called and in whatever order they stand. */
const digestOf = ({ entitlements }: Account): string => {
  const entries = entitlements.map(({ entitlement_id: _, ...entry }) => canonicalJson(entry))
  return hash('sha256', canonicalJson(entries.sort()), 'base64url')
}
