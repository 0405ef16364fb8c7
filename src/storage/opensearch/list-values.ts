import type { ValueCount } from '../../search/facets.ts'
import type { ValuesPage, ValuesRequest } from '../../search/search-index.ts'
import { allOf, anyEntry, inDatasetsOf, isCurrent, nested } from './scope-query.ts'
import type { SearchCalls } from './search-calls.ts'

interface Listed {
  readonly aggregations: {
    readonly same: { readonly doc_count: number }
    readonly values: {
      readonly buckets: readonly { readonly key: { readonly value: string }; readonly doc_count: number }[]
    }
  }
}

/** Lists values with the prefix, in the order of their UTF-8 bytes. */
export async function listValues(calls: SearchCalls, request: ValuesRequest): Promise<ValuesPage> {
  const { scope, field, prefix, after, limit } = request
  if (scope.entries.length === 0 || limit <= 0) return { outcome: 'found', values: [], next: null }
  const isFirst = after === null || Buffer.compare(Buffer.from(after), Buffer.from(prefix)) < 0
  const from = isFirst ? prefix : after
  const { aggregations } = await calls.search<Listed>({
    size: 0,
    track_total_hits: false,
    query: allOf(inDatasetsOf(scope.entries), nested(allOf(anyEntry(scope.entries), isCurrent))),
    aggs: {
      // `after` excludes its value, but the prefix itself may be a value, so it is counted separately.
      same: { filter: { term: { [field]: prefix } } },
      values: {
        composite: {
          size: limit + 1,
          sources: [{ value: { terms: { field, order: 'asc' } } }],
          ...(from === '' ? {} : { after: { value: from } }),
        },
      },
    },
  })
  const prefixIsValue = isFirst && from !== '' && aggregations.same.doc_count > 0
  const found: ValueCount[] = [
    ...(prefixIsValue ? [{ value: prefix, count: aggregations.same.doc_count }] : []),
    ...aggregations.values.buckets
      .map(({ key, doc_count }) => ({ value: key.value, count: doc_count }))
      .filter(({ value }) => value.startsWith(prefix)),
  ]
  const values = found.slice(0, limit)
  return { outcome: 'found', values, next: found.length > limit ? values.at(-1)!.value : null }
}
