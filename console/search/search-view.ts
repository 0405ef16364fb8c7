import { type ComponentChild, h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { account } from '../app/account.ts'
import { addressOf } from '../app/address-of.ts'
import { isUnreachable, waitingWords } from '../app/call-api.ts'
import { icon } from '../app/icons.ts'
import { go } from '../app/router.ts'
import { useApi } from '../app/use-api.ts'
import type { ViewProps } from '../app/view-props.ts'
import { AsCode } from '../shared/as-code.ts'
import { ChosenFilters } from '../shared/chosen-filters.ts'
import { FacetList } from '../shared/facet-list.ts'
import { hasNothingToRead, NothingToRead } from '../shared/nothing-to-read.ts'
import type { ValueCount } from '../shared/value-counts.ts'
import { dayInWords } from '../shared/words-of-time.ts'
import { LiveTopUp } from './live-top-up.ts'
import { ResultCard } from './result-card.ts'
import {
  bucketsMax,
  invalidTimesIn,
  modes,
  parametersOf,
  type Search,
  type SearchFilter,
  type Sort,
  searchFilterNames,
  searchFilters,
  searchOf,
} from './search-request.ts'
import type { Found } from './search-types.ts'
import { Suggestions } from './suggestions.ts'
import { TimeHistogram } from './time-histogram.ts'
import { useSearch } from './use-search.ts'

const change = (search: Search, changes: Partial<Search>, replace = false): void =>
  go(addressOf('/search', parametersOf({ ...search, ...changes })), { replace })

/** Searches while the reader types. The address has the query and all filters. */
export function SearchView({ place }: ViewProps): ComponentChild {
  const search = searchOf(place.query)
  const { body, hasQuery, found, results, hasMore, timeUnit, fault, isBusy, readMore } = useSearch(
    search,
    place.isReturn,
  )
  return h(
    'div',
    { class: 'search', onKeyDown: moveAmongResults },
    h(
      'div',
      { class: 'view-head' },
      h('h1', null, 'Search'),
      h(AsCode, { request: { method: 'POST', path: '/v1/search', body } }),
    ),
    h(QueryBar, { search }),
    h(Chosen, { search }),
    invalidTimesIn(place.query).map((text) =>
      h(
        'p',
        { key: text, class: 'notice warn', role: 'status' },
        `“${text}” in the address is not a valid time and was ignored.`,
      ),
    ),
    h(
      'div',
      { class: 'search-columns' },
      h(Filters, { search, found }),
      h(
        'div',
        { class: 'found' },
        fault === null ? null : h('p', { class: 'notice bad', role: 'alert' }, fault),
        found === null ? null : h(Remarks, { found }),
        found === null
          ? null
          : h(TimeHistogram, {
              counts: found.facets?.published_at ?? [],
              unit: timeUnit,
              choose: (from, to) => change(search, { from, to }),
            }),
        hasNothingToRead() ? h(NothingToRead, null) : null,
        hasQuery ? h(LiveTopUp, { search }) : null,
        h(
          'p',
          { class: 'note summary', role: 'status' },
          hasNothingToRead()
            ? ''
            : hasQuery && found === null
              ? waitingFor(isBusy)
              : found === null || results.length > 0
                ? summaryOf(found, results.length, hasMore)
                : nothingFor(search),
        ),
        hasQuery || hasNothingToRead() ? null : h(Suggestions, { choose: (query) => change(search, { query }) }),
        h(
          'div',
          { class: 'results', 'aria-busy': isBusy },
          results.map((result) => h(ResultCard, { key: result.document_id, result, best: results[0]!.score })),
        ),
        hasMore ? h('button', { type: 'button', class: 'button', onClick: readMore }, 'More results') : null,
      ),
    ),
  )
}

const waitingFor = (isBusy: boolean): string => (isUnreachable.value ? waitingWords : isBusy ? 'Searching …' : '')

function summaryOf(found: Found | null, shown: number, hasMore: boolean): string {
  if (found === null) return ''
  const all = Object.values(found.facets?.dataset ?? []).reduce((sum, { count }) => sum + (count ?? 0), 0)
  if (found.facets_exact && all > shown) return `${shown} of ${all.toLocaleString()} documents`
  return `${shown} document${shown === 1 ? '' : 's'}${hasMore ? ', and more' : ''}`
}

/** Returns what to try after a search without results. */
function nothingFor({ query, lists, from, to }: Search): string {
  const isNarrowed = from !== '' || to !== '' || Object.values(lists).some((values) => values.length > 0)
  const ways = [
    ...(/\s/.test(query.trim()) ? ['fewer words'] : ['another word']),
    ...(isNarrowed ? ['fewer filters'] : []),
  ]
  return `Nothing found. Try ${ways.join(', ')} or another kind of search.`
}

const modeWords = { keyword: 'Words', hybrid: 'Both', vector: 'Meaning' } as const
const sortWords: Readonly<Record<Sort, string>> = {
  relevance: 'Best first',
  '-published_at': 'Newest first',
  published_at: 'Oldest first',
  '-score': 'Highest score first',
}

function QueryBar({ search }: { readonly search: Search }): ComponentChild {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    input.current?.focus({ preventScroll: true })
    const focus = (event: KeyboardEvent): void => {
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '')
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      input.current?.select()
    }
    document.addEventListener('keydown', focus)
    return () => document.removeEventListener('keydown', focus)
  }, [])
  const typed = (event: Event): void =>
    change(search, { query: (event.currentTarget as HTMLInputElement).value }, search.query !== '')
  return h(
    'form',
    { class: 'query-bar', role: 'search', onSubmit: (event: Event) => event.preventDefault() },
    h(
      'div',
      { class: 'query' },
      icon('search'),
      h('label', { class: 'hidden-label', for: 'query' }, 'Search'),
      h('input', {
        id: 'query',
        ref: input,
        type: 'search',
        dir: 'auto',
        value: search.query,
        maxLength: 1000,
        placeholder: 'Words, "a phrase", +must, -not',
        autocomplete: 'off',
        spellcheck: false,
        onInput: typed,
      }),
      h('kbd', { 'aria-hidden': 'true' }, '/'),
    ),
    h(
      'div',
      { class: 'switch', role: 'radiogroup', 'aria-label': 'Search by' },
      modes.map((mode) =>
        h(
          'label',
          { key: mode },
          h('input', {
            type: 'radio',
            name: 'mode',
            value: mode,
            checked: mode === search.mode,
            onChange: () => change(search, { mode }),
          }),
          h('span', null, modeWords[mode]),
        ),
      ),
    ),
    search.mode === 'keyword'
      ? h(
          'select',
          {
            class: 'sort',
            'aria-label': 'Order',
            value: search.sort,
            onChange: (event: Event) =>
              change(search, { sort: (event.currentTarget as HTMLSelectElement).value as Sort }),
          },
          Object.entries(sortWords).map(([value, words]) => h('option', { key: value, value }, words)),
        )
      : null,
  )
}

function Chosen({ search }: { readonly search: Search }): ComponentChild {
  const { lists, from, to } = search
  const isIdle = (name: SearchFilter): boolean => search.mode !== 'keyword' && searchFilters[name].keywordOnly
  const chips = searchFilterNames.flatMap((name) =>
    lists[name].map((value) => ({
      words: `${searchFilters[name].title}: ${value}${isIdle(name) ? ' (word search only)' : ''}`,
      drop: () => change(search, { lists: { ...lists, [name]: lists[name].filter((one) => one !== value) } }),
    })),
  )
  if (from !== '' || to !== '') {
    const words = `Published ${[from && `from ${dayInWords(from)}`, to && `before ${dayInWords(to)}`].filter(Boolean).join(' and ')}`
    chips.push({ words, drop: () => change(search, { from: '', to: '' }) })
  }
  return h(ChosenFilters, { chosen: chips })
}

function Filters({ search, found }: { readonly search: Search; readonly found: Found | null }): ComponentChild {
  const offered = searchFilterNames.filter((name) => search.mode === 'keyword' || !searchFilters[name].keywordOnly)
  // Without results there are no counts, but live collection still needs a choice of dataset and platforms.
  const countsOf = (name: SearchFilter): readonly ValueCount[] => found?.facets?.[searchFilters[name].facet] ?? []
  const { body: readable } = useApi<{ values: readonly ValueCount[] }>(
    found !== null && countsOf('platforms').length === 0
      ? { path: '/v1/values/platform', query: { limit: bucketsMax } }
      : null,
  )
  const uncounted = (name: SearchFilter): readonly ValueCount[] =>
    name === 'platforms' && readable.value !== null
      ? readable.value.values.map(({ value }) => ({ value, count: null }))
      : entitled(name)
  return h(
    'details',
    { class: 'filters', open: innerWidth > 960 },
    h('summary', null, 'Filters'),
    offered.map((name) =>
      h(FacetList, {
        key: name,
        title: searchFilters[name].title,
        counts: countsOf(name).length > 0 ? countsOf(name) : uncounted(name),
        chosen: search.lists[name],
        choose: (values) => change(search, { lists: { ...search.lists, [name]: values } }),
      }),
    ),
    found !== null && found.facets_exact === false
      ? h(
          'p',
          { class: 'note' },
          'Counts cover only the best matches: a search by meaning matches everything to some degree.',
        )
      : null,
  )
}

/** Returns the values that the entitlements name, to be offered when there are no counts. */
function entitled(name: SearchFilter): readonly ValueCount[] {
  const lists = (account.value?.entitlements ?? []).map((entry) =>
    name === 'datasets'
      ? entry.datasets
      : name === 'platforms'
        ? entry.platforms
        : name === 'languages'
          ? entry.languages
          : [],
  )
  return [...new Set(lists.flatMap((list) => list ?? []))].map((value) => ({ value, count: null }))
}

/** Explanations of warnings, by code. */
const warnings: Readonly<Record<string, string>> = {
  vector_search_unavailable:
    'Search by meaning is not available at the moment. These documents were found by their words.',
  keyword_search_timed_out: 'The keyword search took too long. Try fewer or rarer words.',
  live_query_unavailable: 'Live collection could not start. These documents were already collected.',
  vectors_pending:
    'Some new documents can only be found by their words for now: their vectors are still being computed.',
  search_index_rebuilding: 'The search index is being rebuilt. Some documents are missing from these results.',
  search_index_behind: 'The search index is behind. Documents that came in recently may be missing from these results.',
}

function Remarks({ found }: { readonly found: Found }): ComponentChild {
  const corrected = Object.entries(Object.groupBy(found.corrections ?? [], ({ from }) => from)).map(
    ([from, to = []]) => {
      const words = to.slice(0, 4).map((one) => `“${one.to}”`)
      return `No matches for “${from}”. Showing results for ${words.join(', ')}${to.length > words.length ? ' and others' : ''}.`
    },
  )
  return h(
    'div',
    { role: 'status' },
    corrected.map((words) => h('p', { key: words, class: 'notice', dir: 'auto' }, words)),
    found.warnings.map(({ code }) =>
      h(
        'p',
        { key: code, class: `notice ${found.degraded ? 'warn' : ''}` },
        warnings[code] ?? `Warning from the server: ${code}.`,
      ),
    ),
  )
}

/** Arrow keys move from the query through the results. Escape returns to the query. */
function moveAmongResults(event: KeyboardEvent): void {
  const view = event.currentTarget as HTMLElement
  const query = view.querySelector<HTMLInputElement>('#query')!
  const stops = [query, ...view.querySelectorAll<HTMLElement>('.result .title')]
  const at = stops.indexOf(event.target as HTMLElement)
  if (at < 0) return
  if (event.key === 'Escape' && at > 0) query.select()
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  const next = stops[at + step]
  if (step === 0 || next === undefined) return
  event.preventDefault()
  next.focus()
}
