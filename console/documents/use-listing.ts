import { type ReadonlySignal, signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { type Account, account } from '../app/account.ts'
import { inWords } from '../app/call-api.ts'
import { atTop, type SavedPosition, useSavedPosition } from '../app/saved-position.ts'
import type { Document } from './document-types.ts'
import { readListing } from './read-listing.ts'

type Query = Readonly<Record<string, string>>

/** A listing that is read page by page, on request. */
interface Listing {
  readonly key: string
  readonly documents: ReadonlySignal<readonly Document[]>
  readonly isComplete: ReadonlySignal<boolean>
  readonly isBusy: ReadonlySignal<boolean>
  readonly fault: ReadonlySignal<string | null>
  readonly readMore: () => Promise<void>
  readonly cancel: () => void
  readonly position: SavedPosition
}

/** The last listing, kept for a reader who returns from a document to the same rows and scroll position. */
let lastListing: Listing | null = null

export function useListing(query: Query, pageSize: number, isReturn: boolean) {
  const known = account.value
  // A listing of an instance without documents starts again when the first one arrives.
  const key = JSON.stringify([query, known?.application_id, known?.earliest_ingested_at === null])
  const listing = useMemo(() => {
    if (known === null) return null
    if (isReturn && lastListing?.key === key && lastListing.fault.peek() === null) return lastListing
    lastListing?.cancel()
    lastListing = startListing(key, query, pageSize, known)
    return lastListing
  }, [key])
  useSavedPosition(listing?.position ?? null)
  return {
    documents: listing?.documents.value ?? [],
    isComplete: listing?.isComplete.value ?? false,
    isBusy: listing?.isBusy.value ?? true,
    fault: listing?.fault.value ?? null,
    readMore: (): void => {
      listing?.readMore()
    },
  }
}

function startListing(key: string, query: Query, pageSize: number, known: Account): Listing {
  const documents = signal<readonly Document[]>([])
  const isComplete = signal(false)
  const isBusy = signal(false)
  const fault = signal<string | null>(null)
  const controller = new AbortController()
  const { earliest_ingested_at: earliest, latest_ingested_at: latest } = known
  const pages = readListing({ path: '/v1/documents/browse', query, pageSize, earliest, latest }, controller.signal)
  const readMore = async (): Promise<void> => {
    if (isBusy.peek() || isComplete.peek() || fault.peek() !== null) return
    isBusy.value = true
    try {
      const { value, done } = await pages.next()
      if (value) documents.value = [...documents.peek(), ...value]
      isComplete.value = done === true
    } catch (error) {
      fault.value = inWords(error)
    }
    isBusy.value = false
  }
  readMore()
  return { key, documents, isComplete, isBusy, fault, readMore, cancel: () => controller.abort(), position: atTop() }
}
