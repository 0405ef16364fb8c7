import type { ValueCount } from '../../search/facets.ts'
import type { ValuesPage, ValuesRequest } from '../../search/search-index.ts'
import { allOf, anyEntry, isCurrent, namedBy, nested } from './scope-query.ts'
import type { SearchCalls } from './search-calls.ts'

interface Listed {
  readonly aggregations: {
    readonly same: { readonly doc_count: number }
    readonly values: {
      readonly buckets: readonly { readonly key: { readonly value: string }; readonly doc_count: number }[]
    }
  }
}

/** Values with the prefix, in the order of their bytes. */
export async function listValues(calls: SearchCalls, request: ValuesRequest): Promise<ValuesPage> {
  const { scope, field, prefix, after, limit } = request
  if (scope.entries.length === 0 || limit <= 0) return { outcome: 'found', values: [], next: null }
  const isFirst = after === null || Buffer.compare(Buffer.from(after), Buffer.from(prefix)) < 0
  const from = isFirst ? prefix : after
  const { aggregations } = await calls.search<Listed>({
    size: 0,
    track_total_hits: false,
    query: allOf(namedBy(scope.entries), nested(allOf(anyEntry(scope.entries), isCurrent))),
    aggs: {
      // `after` is excluded from a list, but the prefix itself may be a value.
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
  const isSame = isFirst && from !== '' && aggregations.same.doc_count > 0
  const found: ValueCount[] = [
    ...(isSame ? [{ value: prefix, count: aggregations.same.doc_count }] : []),
    ...aggregations.values.buckets
      .map(({ key, doc_count }) => ({ value: key.value, count: doc_count }))
      .filter(({ value }) => value.startsWith(prefix)),
  ]
  const values = found.slice(0, limit)
  return { outcome: 'found', values, next: found.length > limit ? values.at(-1)!.value : null }
}
