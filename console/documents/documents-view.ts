import { type ComponentChild, h } from 'preact'
import { addressOf } from '../app/address-of.ts'
import { awayWords, isAway } from '../app/ask.ts'
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
import { type Browsing, browsingOf, narrowing, narrowings, parametersOf, queryOf } from './browse-request.ts'
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
  const browsing = browsingOf(place.query)
  const query = queryOf(browsing)
  const change = (changes: Partial<Browsing>): void =>
    go(addressOf('/documents', parametersOf({ ...browsing, ...changes })))
  const isNarrow = useNarrow()
  const { names, look } = useNames()
  const { documents, isWhole, isBusy, fault, readOn } = useListing(query, pageSize, place.isReturn)
  return h(
    'div',
    null,
    h(
      'div',
      { class: 'view-head' },
      h('h1', null, 'Documents'),
      h(AsCode, { request: { method: 'GET', path: addressOf('/v1/documents/browse', shownQuery(query)) } }),
    ),
    h(Lookup, { exactly: browsing.exactly, look: (exactly) => change({ exactly }) }),
    h(ChosenFilters, { chosen: chosenOf(browsing, change) }),
    h(
      'div',
      { class: 'documents-columns' },
      h(DocumentFilters, { browsing, change }),
      h(
        'div',
        { class: 'documents' },
        fault === null ? null : h('p', { class: 'notice bad', role: 'alert' }, fault),
        hasNothingToRead()
          ? h(NothingToRead, null)
          : h(
              'p',
              { class: 'note summary', role: 'status' },
              summaryOf(documents.length, isWhole, isBusy, fault !== null),
            ),
        h(WindowList<Document>, {
          label: 'Documents',
          items: documents,
          rowRem: rowRem(isNarrow),
          keyOf: ({ id }) => id,
          row: (document) => h(DocumentRow, { document, body: names.get(document.id)?.body }),
          isOpenEnded: !isWhole,
          seen: (first, last) => {
            const untitled = documents.slice(first, last).filter(({ title }) => !title?.trim())
            look(untitled.map(({ id }) => id))
            if (last > documents.length - ahead) readOn()
          },
        }),
      ),
    ),
  )
}

/** The newest page of the listing, whose window is at most 31 days. */
const shownQuery = (query: Readonly<Record<string, string>>): Record<string, string> => ({
  ...query,
  ...(query.query === '' ? { created_from: daysAgo(30) } : {}),
  limit: String(pageSize),
})

function summaryOf(count: number, isWhole: boolean, isBusy: boolean, hasFailed: boolean): string {
  const waits = isAway.value && !isWhole
  if (count === 0)
    return waits ? awayWords : isBusy ? 'Loading …' : hasFailed ? '' : 'No documents match these filters.'
  const documents = `${count.toLocaleString()} document${count === 1 ? '' : 's'}`
  return isWhole
    ? `${documents}, newest first`
    : `${documents} so far, newest first. ${waits ? awayWords : 'Scroll for more.'}`
}

function Lookup({
  exactly,
  look,
}: {
  readonly exactly: string
  readonly look: (exactly: string) => void
}): ComponentChild {
  const submit = (event: Event): void => {
    event.preventDefault()
    look(String(new FormData(event.currentTarget as HTMLFormElement).get('exactly') ?? '').trim())
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
      // Half-typed text stays while documents arrive below.
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

function chosenOf(browsing: Browsing, change: (changes: Partial<Browsing>) => void): readonly ChosenFilter[] {
  const { exactly, dataset, lists, author, scoreMin, scoreMax, from, to, status } = browsing
  const one = (value: string, words: string, changes: Partial<Browsing>): ChosenFilter[] =>
    value === '' ? [] : [{ words, drop: () => change(changes) }]
  return [
    ...one(exactly, `Exact match: ${exactly}`, { exactly: '' }),
    ...one(dataset, `Dataset: ${dataset}`, { dataset: '' }),
    ...narrowings.flatMap((name) =>
      lists[name].map((value) => ({
        words: `${narrowing[name].title}: ${value}`,
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
