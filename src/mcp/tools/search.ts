import { Type } from 'typebox'
import { filterSchemas, type ParameterValues, parameterNamesOf } from '../../document/filters.ts'
import { filterRows } from '../../document/rows.ts'
import { choice } from '../../platform/validation.ts'
import type { Api } from '../api.ts'
import { type ListedDocument, listed } from '../documents.ts'
import { fitting, fittingFields, tokensIn } from '../token-budget.ts'
import { codes, cursor, listLength, time, tool } from '../tool.ts'

interface Found extends ListedDocument {
  readonly document_id: string
  readonly score: number
  readonly body?: string
}

interface SearchAnswer {
  readonly results: readonly Found[]
  readonly cursor?: string
  readonly corrections?: readonly object[]
  readonly warnings: readonly { readonly message: string }[]
}

const resultsDefault = 10

/** Parameters of keyword search. A request with one of them and without a mode is a keyword search. */
const keywordOnly = ['cursor', 'sort', 'typo', ...filterRows.flatMap(parameterNamesOf)]

export const search = tool(
  {
    name: 'search',
    title: 'Search documents',
    description:
      'Finds documents by content, best first, each with a passage of up to 500 characters. Use it first for any question about the content. ' +
      'Mode `hybrid` (the default) takes a question or phrase in natural language; `keyword` is for exact names, codes and quotations: words are combined with OR, "…" is a phrase, +word must occur, -word must not (before a digit, - is text). ' +
      'A passage is not the whole text: before you state what a document says, call `read_document` with its `document_id`. ' +
      'If there are few or no results, use fewer or other words, drop conditions, or check with `counts` which values exist. To find out how many documents match, use `counts`, not the length of this list.',
    quotes: true,
    fields: {
      query: Type.String({ minLength: 1, maxLength: 1000, description: 'What to look for.' }),
      mode: Type.Optional(
        choice(['hybrid', 'keyword', 'vector'], { description: '`vector` searches by meaning only.' }),
      ),
      datasets: codes('Only these datasets; `account` lists them.'),
      platforms: codes('Only these platforms.'),
      languages: codes('Only these languages, ISO 639-1 codes such as en.'),
      published_from: time('Published at this time or later.'),
      published_to: time('Published before this time.'),
      ...filterSchemas('Keyword mode: ', 'platforms', codes),
      sort: Type.Optional(
        choice(['relevance', 'published_at', '-published_at', '-score'], {
          description: 'Keyword mode: `-published_at` puts the newest first.',
        }),
      ),
      typo: Type.Optional(
        choice(['off', 'auto', 'always'], { description: 'Keyword mode: `auto` corrects misspelt words.' }),
      ),
      limit: Type.Optional(listLength(50, resultsDefault)),
      cursor: cursor('Keyword mode: `cursor` of the previous response for the next page; everything else unchanged.'),
    },
  },
  async ({ mode, ...request }, api: Api, tokens) => {
    const chosen =
      mode ?? (keywordOnly.some((name) => (request as ParameterValues)[name] !== undefined) ? 'keyword' : 'hybrid')
    const body = { limit: resultsDefault, ...request }
    const answer = await api.post<SearchAnswer>(`/v1/search/${chosen}`, body)
    // Corrections contain words from documents, so they are quoted.
    const { shown: corrected } = fittingFields({ corrections: answer.corrections }, Math.floor(tokens / 4))
    const head = {
      mode: chosen,
      quoted: answer.corrections === undefined ? undefined : corrected,
      warnings: answer.warnings.length === 0 ? undefined : answer.warnings.map(({ message }) => message),
      cursor: answer.cursor,
    }
    const results = answer.results.map((one) => ({
      score: Number(one.score.toFixed(4)),
      ...listed(one.document_id, one, { text: one.body }),
    }))
    const { shown, left } = fitting(results, ({ document_id }) => document_id, tokens - tokensIn(JSON.stringify(head)))
    return { ...head, results: shown, not_shown: left.length === 0 ? undefined : left }
  },
)
