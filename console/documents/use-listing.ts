import { type ReadonlySignal, signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { type Account, account } from '../app/account.ts'
import { inWords } from '../app/ask.ts'
import { atTheTop, type KeptPlace, useKeptPlace } from '../app/kept-place.ts'
import type { Document } from './document-types.ts'
import { readListing } from './read-listing.ts'

type Query = Readonly<Record<string, string>>

/** A listing that is read page by page, on request. */
interface Listing {
  readonly key: string
  readonly documents: ReadonlySignal<readonly Document[]>
  readonly isWhole: ReadonlySignal<boolean>
  readonly isBusy: ReadonlySignal<boolean>
  readonly fault: ReadonlySignal<string | null>
  readonly readOn: () => Promise<void>
  readonly leave: () => void
  readonly place: KeptPlace
}

/** The last listing. A reader who returns from a document finds the same rows and the same position. */
let kept: Listing | null = null

export function useListing(query: Query, pageSize: number, isReturn: boolean) {
  const known = account.value
  // An empty listing starts again when the first document arrives.
  const key = JSON.stringify([query, known?.application_id, known?.earliest_ingested_at === null])
  const listing = useMemo(() => {
    if (known === null) return null
    if (isReturn && kept?.key === key && kept.fault.peek() === null) return kept
    kept?.leave()
    kept = begin(key, query, pageSize, known)
    return kept
  }, [key])
  useKeptPlace(listing?.place ?? null)
  return {
    documents: listing?.documents.value ?? [],
    isWhole: listing?.isWhole.value ?? false,
    isBusy: listing?.isBusy.value ?? true,
    fault: listing?.fault.value ?? null,
    readOn: (): void => {
      listing?.readOn()
    },
  }
}

function begin(key: string, query: Query, pageSize: number, known: Account): Listing {
  const documents = signal<readonly Document[]>([])
  const isWhole = signal(false)
  const isBusy = signal(false)
  const fault = signal<string | null>(null)
  const left = new AbortController()
  const { earliest_ingested_at: earliest, latest_ingested_at: latest } = known
  const pages = readListing({ path: '/v1/documents/browse', query, pageSize, earliest, latest }, left.signal)
  const readOn = async (): Promise<void> => {
    if (isBusy.peek() || isWhole.peek() || fault.peek() !== null) return
    isBusy.value = true
    try {
      const { value, done } = await pages.next()
      if (value) documents.value = [...documents.peek(), ...value]
      isWhole.value = done === true
    } catch (error) {
      fault.value = inWords(error)
    }
    isBusy.value = false
  }
  readOn()
  return { key, documents, isWhole, isBusy, fault, readOn, leave: () => left.abort(), place: atTheTop() }
}
