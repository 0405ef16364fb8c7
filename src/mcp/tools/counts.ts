import { Type } from 'typebox'
import { facetNames, listedNames } from '../../document/rows.ts'
import { choice } from '../../platform/validation.ts'
import { type Api, Refusal } from '../api.ts'
import { clipped, fitting } from '../token-budget.ts'
import { codes, listLength, time, tool } from '../tool.ts'

interface ValueCount {
  readonly value: string
  readonly count: number
}

interface Values {
  readonly values: readonly ValueCount[]
  readonly next_cursor?: string
}

const fields = [...facetNames, 'published_at'] as const
const valuesDefault = 20
const statusesMax = 20
const pageLength = 100

export const counts = tool(
  {
    name: 'counts',
    title: 'Count documents by a field',
    description:
      'Counts documents exactly by the values of a field; `documents` counts all of them, including those without a value. Use it for how many, where from, in which languages, on which days. ' +
      'With `query`, it counts the documents that match its words, most frequent values first; without, everything the key can read, ordered by value, for the fields ' +
      `${listedNames.join(', ')}. Also use it to learn which values exist before you filter by them, and for trends (\`published_at\` with \`bucket\`).`,
    quotes: true,
    fields: {
      by: choice(fields, { description: 'The field to count by.' }),
      query: Type.Optional(
        Type.String({ minLength: 1, maxLength: 1000, description: 'Like `query` of `search` in keyword mode.' }),
      ),
      bucket: Type.Optional(
        choice(['day', 'week', 'month'], { default: 'day', description: 'The interval for `published_at`, in UTC.' }),
      ),
      datasets: codes('Only these datasets; at most one without `query`.'),
      platforms: codes('With `query`: only these platforms.'),
      languages: codes('With `query`: only these languages.'),
      published_from: time('With `query`: published at this time or later.'),
      published_to: time('With `query`: published before this time.'),
      prefix: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 512,
          description: 'Without `query`: only values that start with this, case included.',
        }),
      ),
      limit: Type.Optional(listLength(100, valuesDefault)),
    },
  },
  async ({ by, query, bucket = 'day', prefix, limit = valuesDefault, datasets, ...narrowing }, api, tokens) => {
    const countsAnswer = (values: readonly ValueCount[], more: object) => {
      const { shown, left } = fitting(
        values.map(({ value, count }) => ({ value: clipped(value, 200), count })),
        ({ value }) => value,
        tokens - 100,
      )
      return { by, ...more, quoted: shown, not_shown: left.length === 0 ? undefined : left.length }
    }
    if (query !== undefined) {
      // Every document has exactly one status, so the counts of the statuses add up to the number of matches.
      const facets = [...new Set([by === 'published_at' ? { published_at: bucket } : by, 'status'])]
      const facet_limit = Math.max(limit, statusesMax)
      const body = { query, datasets, ...narrowing, facets, facet_limit, limit: 1, fields: ['status'] }
      const answer = await api.post<{
        readonly facets: Readonly<Record<string, readonly ValueCount[]>>
        readonly facets_exact: boolean
      }>('/v1/search/keyword', body)
      const documents = sumOf(answer.facets.status ?? [])
      return countsAnswer((answer.facets[by] ?? []).slice(0, limit), { documents, exact: answer.facets_exact })
    }
    const needingQuery = Object.keys(narrowing).filter(
      (name) => narrowing[name as keyof typeof narrowing] !== undefined,
    )
    if (!(listedNames as readonly string[]).includes(by))
      throw needsQuery('by', `${by} can only be counted with a query`)
    if (needingQuery.length > 0) throw needsQuery(needingQuery[0]!, 'needs a query: add one, or leave this out')
    if (new Set(datasets).size > 1) throw needsQuery('datasets', 'must name a single dataset if there is no query')
    const dataset_id = datasets?.[0]
    const answer = await api.get<Values>(`/v1/values/${by}`, { dataset_id, prefix, limit })
    const hasMore = answer.next_cursor !== undefined
    return countsAnswer(answer.values, {
      documents: await documentsIn(api, dataset_id),
      more: hasMore ? 'there are more values: use a prefix or a larger limit' : undefined,
    })
  },
)

/** The number of readable documents. Every document is in exactly one dataset. */
async function documentsIn(api: Api, dataset_id: string | undefined): Promise<number> {
  let documents = 0
  let cursor: string | undefined
  do {
    const page: Values = await api.get<Values>('/v1/values/dataset', { dataset_id, limit: pageLength, cursor })
    documents += sumOf(page.values)
    cursor = page.next_cursor
  } while (cursor !== undefined)
  return documents
}

const sumOf = (values: readonly ValueCount[]): number => values.reduce((sum, { count }) => sum + count, 0)

function needsQuery(path: string, message: string): Refusal {
  const details = [{ path, message }]
  return new Refusal(
    { status: 400, retryAfterSeconds: null },
    { code: 'invalid_request', message: `${path} ${message}`, details },
  )
}
