import type { Static } from 'typebox'
import type { AccessRequest } from '../access/compile-scope.ts'
import { invalidField } from '../errors.ts'
import { documentStatuses } from '../ingest/content-store.ts'
import { liveFields } from '../live/live-request.ts'
import { Type } from '../schema-types.ts'
import { parseOptionalTime } from '../time.ts'
import { choice, choices, exactPattern, Languages, named, strict } from '../validation.ts'
import { type TypoMode, typoModes } from './correct-query.ts'
import { searchLimits as limits } from './limits.ts'
import { checkNarrowing, type Narrowing, narrowingFields } from './narrowing.ts'
import { openedBy, type ResultField, resultFields } from './result-fields.ts'
import { noFilters, type SearchFilters } from './search-index.ts'

export const modes = ['keyword', 'vector', 'hybrid'] as const
export type Mode = (typeof modes)[number]

const values = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: exactPattern }), {
      minItems: 1,
      maxItems: 200,
      uniqueItems: true,
      description,
    }),
  )
const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

const fields = {
  mode: Type.Optional(
    choice(modes, { description: '`hybrid` when `query_vector` is sent, else `keyword`, when absent.' }),
  ),
  query: Type.Optional(
    Type.String({
      maxLength: limits.queryUntrimmedMax,
      description:
        '1 to 1,000 characters, spaces around them not counted (with them up to 10,000). In keyword mode bare words are OR-ed, `"…"` is a phrase, `+word` must be there, `-word` must not.',
      examples: ['tidal power'],
    }),
  ),
  query_vector: Type.Optional(
    Type.Array(Type.Number(), {
      minItems: 1,
      maxItems: limits.vectorDimensionsMax,
      description: 'An embedding of your own, of the dimensions of the default embedding profile.',
    }),
  ),
  datasets: values('Narrows the entitled datasets.'),
  platforms: values('Narrows the entitled platforms.'),
  languages: Type.Optional(Languages),
  published_from: time('Inclusive.'),
  published_to: time('Exclusive.'),
  status: Type.Optional(
    choices(
      'DocumentStatus',
      documentStatuses,
      'An addition: what the collector last said of the original. Both when absent.',
    ),
  ),
  typo: Type.Optional(
    choice(typoModes, {
      default: 'off',
      description:
        'An addition, keyword mode only: also finds words of the searched texts that a word of the query may have been meant for. ' +
        '`auto`: only for words that match nothing; `always`: for every word. A word of 4 letters and more may have one error, ' +
        'of 8 and more two: a letter put in, left out or changed, also the first, or two neighbours changed about. Words with digits, ' +
        'in quotes or after `-` are left as they are. Such words rank below exact ones and are listed in `corrections`.',
    }),
  ),
  prefix: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'An addition, keyword mode only, for search as you type: the last word, unless in quotes or after `-`, also finds words that ' +
        'begin with it. Such a word counts for half of the word itself in a like text.',
    }),
  ),
  explain: Type.Optional(
    Type.Boolean({ default: false, description: 'An addition: every result comes with the parts of its score.' }),
  ),
  ...narrowingFields,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.resultsMax, default: limits.resultsDefault })),
  cursor: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: 'Keyword mode only: `cursor` of the previous page, all else unchanged.',
    }),
  ),
  fields: Type.Optional(choices('ResultField', resultFields, 'Narrows the returned fields.')),
  include_highlights: Type.Optional(Type.Boolean({ default: false })),
  include_chunks: Type.Optional(Type.Boolean({ default: false })),
  include_non_current: Type.Optional(
    Type.Boolean({ default: false, description: 'Lets earlier versions take part, each by its own language.' }),
  ),
}

export const SearchBody = named('HistorySearchRequest', Type.Object(fields, strict))
/** On a path that has its mode in its name. */
export const searchBodyOf = (mode: Mode) =>
  named(
    `${mode.charAt(0).toUpperCase()}${mode.slice(1)}SearchRequest`,
    Type.Object({ ...fields, mode: Type.Optional(choice([mode], { default: mode })) }, strict),
  )
export const SearchWithLiveBody = named(
  'SearchRequest',
  Type.Object(
    {
      ...fields,
      live: Type.Optional(
        named(
          'LiveTopUp',
          Type.Object(
            {
              enabled: Type.Boolean(),
              ...liveFields,
            },
            { ...strict, description: 'Asks for an on-demand collection beside the search.' },
          ),
        ),
      ),
    },
    strict,
  ),
)
export type SearchBody = Static<typeof SearchBody>

/** A checked request in the words of the search. */
export interface SearchRequest extends Narrowing {
  readonly mode: Mode
  /** Empty where a vector search has no text. */
  readonly text: string
  readonly queryVector: readonly number[] | null
  readonly filters: SearchFilters
  readonly typo: TypoMode
  /** The last word of the text is the beginning of one. */
  readonly prefix: boolean
  readonly explain: boolean
  readonly limit: number
  readonly cursor: string | null
  readonly fields: ReadonlySet<ResultField>
  readonly highlights: boolean
  readonly chunks: boolean
}

export function checkSearch(body: SearchBody, fixedMode: Mode | null, dimensions: number | null): SearchRequest {
  const mode = body.mode ?? fixedMode ?? (body.query_vector === undefined ? 'keyword' : 'hybrid')
  const text = (body.query ?? '').trim()
  if (body.query !== undefined && text === '') throw invalid('query', 'must have at least one character')
  if (text.length > limits.queryCharactersMax && [...text].length > limits.queryCharactersMax)
    throw invalid('query', `must not be longer than ${limits.queryCharactersMax} characters`)
  if (mode !== 'vector' && text === '') throw invalid('query', `is required in ${mode} mode`)
  if (mode === 'vector' && text === '' && body.query_vector === undefined) {
    throw invalid('query', 'or query_vector is required in vector mode')
  }
  const { cursor = null, typo = 'off', prefix = false } = body
  if (mode !== 'keyword') {
    if (cursor !== null) throw invalid('cursor', 'works in keyword mode only')
    if (typo !== 'off') throw invalid('typo', 'works in keyword mode only')
    if (prefix) throw invalid('prefix', 'works in keyword mode only')
  }
  const publishedFrom = parseOptionalTime(body.published_from)
  const publishedTo = parseOptionalTime(body.published_to)
  if (publishedFrom !== null && publishedTo !== null && publishedFrom >= publishedTo) {
    throw invalid('published_to', 'must be after published_from')
  }
  return {
    ...checkNarrowing(body, mode === 'keyword'),
    mode,
    text,
    queryVector: body.query_vector === undefined ? null : checkVector(body.query_vector, dimensions),
    filters: {
      ...noFilters,
      datasets: body.datasets ?? null,
      platforms: body.platforms ?? null,
      languages: body.languages ?? null,
      statuses: body.status ?? null,
      publishedFrom,
      publishedTo,
      includeNonCurrent: body.include_non_current ?? false,
    },
    typo,
    prefix,
    explain: body.explain ?? false,
    limit: body.limit ?? limits.resultsDefault,
    cursor,
    fields: new Set(body.fields ?? resultFields),
    highlights: body.include_highlights ?? false,
    chunks: body.include_chunks ?? false,
  }
}

/** Fields with a permission that the request names; those of a default selection are cut in silence, named ones are not. */
export function namedFields(body: SearchBody): NonNullable<AccessRequest['fields']> {
  return (body.fields ?? []).flatMap((name) => {
    const permissions = openedBy[name]
    return permissions === undefined ? [] : { name, openedBy: permissions }
  })
}

/** What must be readable for the mode to look anywhere at all, and for what the request filters by. */
export function neededPermissions({ mode, needs }: Pick<SearchRequest, 'mode' | 'needs'>) {
  return [mode === 'vector' ? (['body'] as const) : (['title', 'body'] as const), ...needs]
}

/** Everything a cursor is bound to, in a fixed order. What is counted is not: a later page need not be counted again. */
export function bindingOf(request: SearchRequest): unknown {
  const { mode, text, filters, typo, prefix, explain, limit, fields: chosen, highlights, chunks } = request
  const { conditions, order } = request
  const shown = [explain, [...chosen].sort(), highlights, chunks]
  return ['search', mode, text, filters, typo, prefix, limit, ...shown, conditions, order]
}

function checkVector(vector: readonly number[], dimensions: number | null): readonly number[] {
  if (dimensions !== null && vector.length !== dimensions) {
    throw invalid(
      'query_vector',
      `must have ${dimensions} numbers, as the default embedding profile has; it has ${vector.length}`,
    )
  }
  if (!vector.every(Number.isFinite)) throw invalid('query_vector', 'must have finite numbers only')
  if (vector.every((value) => value === 0)) throw invalid('query_vector', 'must not be all zero')
  return vector
}

export const invalid = (path: string, message: string) => invalidField('invalid_query', path, message)
