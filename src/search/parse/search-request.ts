import { type Static, Type } from 'typebox'
import type { AccessRequest } from '../../access/compile-scope.ts'
import { documentStatuses } from '../../document/fields.ts'
import { liveFields } from '../../live/live-request.ts'
import { invalidField } from '../../platform/errors.ts'
import { isWrongInterval, parseOptionalBound } from '../../platform/time.ts'
import {
  choice,
  choices,
  describedBy,
  exactPattern,
  Languages,
  named,
  readOnce,
  strict,
} from '../../platform/validation.ts'
import { parseQuery } from '../../text/parse-query.ts'
import { queryLanguages } from '../../text/query-languages.ts'
import type { KeywordQuery } from '../../text/types.ts'
import { searchLimits as limits } from '../limits.ts'
import { constantFields, openedBy, type ResultField, resultFields } from '../present/result-fields.ts'
import { noFilters, type SearchFilters } from '../search-index.ts'
import { checkNarrowing, type Narrowing, narrowingFields } from './narrowing.ts'

export const modes = ['keyword', 'vector', 'hybrid'] as const
export type Mode = (typeof modes)[number]

const typoModes = ['off', 'auto', 'always'] as const
export type TypoMode = (typeof typoModes)[number]

const values = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: exactPattern }), {
      minItems: 1,
      maxItems: 200,
      [readOnce]: true,
      description,
    }),
  )
const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

const fields = {
  mode: Type.Optional(
    choice(modes, { description: 'Default: `hybrid` if `query_vector` is sent, otherwise `keyword`.' }),
  ),
  query: Type.Optional(
    Type.String({
      maxLength: limits.queryUntrimmedMax,
      [describedBy]: Type.String({
        minLength: 1,
        maxLength: limits.queryCharactersMax,
        description:
          'What to search for; spaces around it do not count. In keyword and hybrid mode words are combined with OR, `"…"` is a phrase, ' +
          '`+word` or `+"a phrase"` must occur, and `-word` or `-"a phrase"` must not: `-` counts only before a letter or a quote, so `-5` is text. ' +
          'In vector mode these signs are text like any other.',
        examples: ['tidal power'],
      }),
    }),
  ),
  query_vector: Type.Optional(
    Type.Array(Type.Number(), {
      minItems: 1,
      maxItems: limits.vectorDimensionsMax,
      description:
        'Your own embedding of the query, for vector and hybrid mode. Must have the dimensions of the default embedding profile (see `GET /v1/account`).',
    }),
  ),
  datasets: values('Only these datasets. Default: all that the application may read.'),
  platforms: values('Only these platforms. Default: all that the application may read.'),
  languages: Type.Optional(Languages),
  published_from: time('Only documents published at this time or later.'),
  published_to: time('Only documents published before this time.'),
  status: Type.Optional(
    choices(
      'DocumentStatus',
      documentStatuses,
      'Addition: only documents with this status, as last reported by the collector. Default: both.',
      { [readOnce]: true },
    ),
  ),
  typo: Type.Optional(
    choice(typoModes, {
      default: 'off',
      description:
        'Addition, keyword mode only: corrects misspelt words. `auto`: only words that match nothing; `always`: every word. ' +
        'A word of 4 letters or more may have one error, of 8 or more two: a letter added, missing or changed, including the first, ' +
        'or two neighbouring letters swapped. Words with digits, in quotes or after `-` are not corrected. ' +
        'Corrected words rank below exact ones and are listed in `corrections`.',
    }),
  ),
  prefix: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Addition, keyword mode only, for search as you type: the last word, unless in quotes or after `-`, also finds words that ' +
        'start with it. Such a match counts half as much as the word itself.',
    }),
  ),
  explain: Type.Optional(
    Type.Boolean({ default: false, description: 'Addition: return the components of each score in `explanation`.' }),
  ),
  ...narrowingFields,
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.resultsMax,
      default: limits.resultsDefault,
      description: 'The maximum number of results.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: 'Keyword mode only: `cursor` of the previous page. Keep everything else unchanged.',
    }),
  ),
  fields: Type.Optional(
    choices(
      'ResultField',
      resultFields,
      `Return only these fields. Always returned: ${constantFields.map((name) => `\`${name}\``).join(', ')}. ` +
        '`highlights`, `matched_chunks` and `explanation` are returned if `include_highlights`, `include_chunks` and `explain` ' +
        'ask for them, whether named here or not. Highlights show text of the title and of the body, and chunks text of the body, ' +
        'only if `title` and `body` are named. Default: all that the application may read.',
      { [readOnce]: true },
    ),
  ),
  include_highlights: Type.Optional(
    Type.Boolean({ default: false, description: 'Return `highlights`: fragments of the text with the hits marked.' }),
  ),
  include_chunks: Type.Optional(
    Type.Boolean({ default: false, description: 'Return `matched_chunks`: the chunks of each document that match.' }),
  ),
  include_non_current: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Also search earlier versions of documents, each in its own language. A document still appears at most once per page.',
    }),
  ),
}

export const SearchBody = named('HistorySearchRequest', Type.Object(fields, strict))
/** The body of a path that has the mode in its name. */
export const searchBodyOf = (mode: Mode) =>
  named(
    `${mode.charAt(0).toUpperCase()}${mode.slice(1)}SearchRequest`,
    Type.Object(
      { ...fields, mode: Type.Optional(choice([mode], { default: mode, description: 'Given by the path.' })) },
      strict,
    ),
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
              enabled: Type.Boolean({ description: '`false` is the same as leaving out `live`.' }),
              ...liveFields,
            },
            { ...strict, description: 'Starts an on-demand collection in addition to the search.' },
          ),
        ),
      ),
    },
    strict,
  ),
)
export type SearchBody = Static<typeof SearchBody>

/** A validated search request. */
export interface SearchRequest extends Narrowing {
  readonly mode: Mode
  /** Empty if a vector search has no text. */
  readonly text: string
  /** The words of the text. */
  readonly query: KeywordQuery
  /** The possible languages of the text; null if they are unknown, or not needed as in keyword mode. */
  readonly languages: readonly string[] | null
  readonly queryVector: readonly number[] | null
  readonly filters: SearchFilters
  readonly typo: TypoMode
  /** Whether the last word of the text is a prefix. */
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
  if (isWrongInterval(body.published_from, body.published_to)) {
    throw invalid('published_to', 'must be after published_from')
  }
  const { languages = null } = body
  return {
    ...checkNarrowing(body, mode === 'keyword'),
    mode,
    text,
    query: parseQuery(text, languages, { lastIsPrefix: prefix }),
    languages: mode === 'keyword' ? null : queryLanguages(text, languages),
    queryVector: body.query_vector === undefined ? null : checkVector(body.query_vector, dimensions),
    filters: {
      ...noFilters,
      datasets: body.datasets ?? null,
      platforms: body.platforms ?? null,
      languages,
      statuses: body.status ?? null,
      publishedFrom: parseOptionalBound(body.published_from),
      publishedTo: parseOptionalBound(body.published_to),
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

/**
 * The fields that the request names and that need a permission. Without the permission, a named field is an error; a
 * field of the default selection is left out silently.
 */
export function namedFields(body: SearchBody): NonNullable<AccessRequest['fields']> {
  return (body.fields ?? []).flatMap((name) => {
    const permissions = openedBy[name]
    return permissions === undefined ? [] : { name, openedBy: permissions }
  })
}

/** The permissions that the mode and the conditions need. */
export function neededPermissions({ mode, needs }: Pick<SearchRequest, 'mode' | 'needs'>) {
  return [mode === 'vector' ? (['body'] as const) : (['title', 'body'] as const), ...needs]
}

/**
 * Everything that a cursor is bound to, in a fixed order. Facets are not part of it, so that later pages need not count
 * again.
 */
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
