import type { Scope } from '../../access/scope.ts'
import type { KeywordQuery } from '../../text/types.ts'
import type { ScopeStatistics } from './scope-statistics.ts'

/**
 * What was counted for queries that are still in use: whoever asks for more by the same one, as the branches of a hybrid search
 * do, need not count again.
 */
export class CountedQueries {
  readonly #counted = new WeakMap<KeywordQuery, { readonly scope: Scope; readonly statistics: ScopeStatistics }>()

  note(query: KeywordQuery, scope: Scope, statistics: ScopeStatistics): void {
    this.#counted.set(query, { scope, statistics })
  }

  /** Null where it is not counted, or not yet. */
  of(query: KeywordQuery, scope: Scope): ScopeStatistics | null {
    const known = this.#counted.get(query)
    return known?.scope === scope ? known.statistics : null
  }
}
