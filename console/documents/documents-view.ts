import { type ComponentChild, h } from 'preact'
import { addressOf } from '../app/address-of.ts'
import { isUnreachable, waitingWords } from '../app/call-api.ts'
import { icon } from '../app/icons.ts'
import { go } from '../app/router.ts'
import type { ViewProps } from '../app/view-props.ts'
import { AsCode } from '../shared/as-code.ts'
import { type ChosenFilter, ChosenFilters } from '../shared/chosen-filters.ts'
import { daysAgo } from '../shared/days-ago.ts'
import { hasNothingToRead, NothingToRead } from '../shared/nothing-to-read.ts'
import { useNames } from '../shared/use-names.ts'
import { useNarrow } from '../shared/use-narrow.ts'
import { WindowList } from '../shared/window-list.ts'
import { dayInWords } from '../shared/words-of-time.ts'
import {
  type BrowseFilters,
  browseFiltersOf,
  listFilterNames,
  listFilters,
  parametersOf,
  queryOf,
} from './browse-request.ts'
import { DocumentFilters } from './document-filters.ts'
import { DocumentRow, rowRem } from './document-row.ts'
import type { Document } from './document-types.ts'
import { useListing } from './use-listing.ts'

const pageSize = 100
/** The next page is requested this many rows before the end. */
const ahead = 40

/**
 * Lists all readable documents, the newest first, and loads more while the reader scrolls. The address has the filters.
 */
export function DocumentsView({ place }: ViewProps): ComponentChild {
  const filters = browseFiltersOf(place.query)
  const query = queryOf(filters)
  const change = (changes: Partial<BrowseFilters>): void =>
    go(addressOf('/documents', parametersOf({ ...filters, ...changes })))
  const isNarrow = useNarrow()
  const { names, loadNames } = useNames()
  const { documents, isComplete, isBusy, fault, readMore } = useListing(query, pageSize, place.isReturn)
  return h(
    'div',
    null,
    h(
      'div',
      { class: 'view-head' },
      h('h1', null, 'Documents'),
      h(AsCode, { request: { method: 'GET', path: addressOf('/v1/documents/browse', shownQuery(query)) } }),
    ),
    h(Lookup, { exactly: filters.exactly, find: (exactly) => change({ exactly }) }),
    h(ChosenFilters, { chosen: chosenOf(filters, change) }),
    h(
      'div',
      { class: 'documents-columns' },
      h(DocumentFilters, { filters, change }),
      h(
        'div',
        { class: 'documents' },
        fault === null ? null : h('p', { class: 'notice bad', role: 'alert' }, fault),
        hasNothingToRead()
          ? h(NothingToRead, null)
          : h(
              'p',
              { class: 'note summary', role: 'status' },
              summaryOf(documents.length, isComplete, isBusy, fault !== null),
            ),
        h(WindowList<Document>, {
          label: 'Documents',
          items: documents,
          rowRem: rowRem(isNarrow),
          keyOf: ({ id }) => id,
          row: (document) => h(DocumentRow, { document, body: names.get(document.id)?.body }),
          isOpenEnded: !isComplete,
          seen: (first, last) => {
            const untitled = documents.slice(first, last).filter(({ title }) => !title?.trim())
            loadNames(untitled.map(({ id }) => id))
            if (last > documents.length - ahead) readMore()
          },
        }),
      ),
    ),
  )
}

/** The query that “Code” shows: the newest page. A listing covers at most 31 days. */
const shownQuery = (query: Readonly<Record<string, string>>): Record<string, string> => ({
  ...query,
  ...(query.query === '' ? { created_from: daysAgo(30) } : {}),
  limit: String(pageSize),
})

function summaryOf(count: number, isComplete: boolean, isBusy: boolean, hasFailed: boolean): string {
  const waits = isUnreachable.value && !isComplete
  if (count === 0)
    return waits ? waitingWords : isBusy ? 'Loading …' : hasFailed ? '' : 'No documents match these filters.'
  const documents = `${count.toLocaleString()} document${count === 1 ? '' : 's'}`
  return isComplete
    ? `${documents}, newest first`
    : `${documents} so far, newest first. ${waits ? waitingWords : 'Scroll for more.'}`
}

function Lookup({
  exactly,
  find,
}: {
  readonly exactly: string
  readonly find: (exactly: string) => void
}): ComponentChild {
  const submit = (event: Event): void => {
    event.preventDefault()
    find(String(new FormData(event.currentTarget as HTMLFormElement).get('exactly') ?? '').trim())
  }
  return h(
    'form',
    { class: 'lookup', role: 'search', onSubmit: submit },
    icon('search'),
    h('label', { class: 'hidden-label', for: 'exactly' }, 'Document ID or URL'),
    h('input', {
      id: 'exactly',
      name: 'exactly',
      type: 'search',
      // Uncontrolled, so that half-typed text stays while documents arrive below.
      key: exactly,
      defaultValue: exactly,
      maxLength: 4096,
      placeholder: 'Document ID or URL',
      autocomplete: 'off',
      spellcheck: false,
    }),
    h('button', { type: 'submit', class: 'button' }, 'Find'),
  )
}

function chosenOf(filters: BrowseFilters, change: (changes: Partial<BrowseFilters>) => void): readonly ChosenFilter[] {
  const { exactly, dataset, lists, author, scoreMin, scoreMax, from, to, status } = filters
  const one = (value: string, words: string, changes: Partial<BrowseFilters>): ChosenFilter[] =>
    value === '' ? [] : [{ words, drop: () => change(changes) }]
  return [
    ...one(exactly, `Exact match: ${exactly}`, { exactly: '' }),
    ...one(dataset, `Dataset: ${dataset}`, { dataset: '' }),
    ...listFilterNames.flatMap((name) =>
      lists[name].map((value) => ({
        words: `${listFilters[name].title}: ${value}`,
        drop: () => change({ lists: { ...lists, [name]: lists[name].filter((kept) => kept !== value) } }),
      })),
    ),
    ...one(author, `Author: ${author}`, { author: '' }),
    ...one(from, `Published since ${dayOf(from)}`, { from: '' }),
    ...one(to, `Published until ${dayOf(to)}`, { to: '' }),
    ...one(scoreMin, `Score at least ${scoreMin}`, { scoreMin: '' }),
    ...one(scoreMax, `Score at most ${scoreMax}`, { scoreMax: '' }),
    ...one(status, status === 'active' ? 'Available' : 'Unavailable', { status: '' }),
  ]
}

const dayOf = (text: string): string => (Number.isNaN(Date.parse(text)) ? text : dayInWords(text))
