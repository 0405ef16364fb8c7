import type { Cursors } from '../cursors.ts'
import { ANALYSIS_VERSION } from '../text/analysis-version.ts'
import type { KeywordPosition } from './search-index.ts'
import { invalid } from './search-request.ts'

/** By which rules scores and bindings are made. The number goes up when `bindingOf` binds a cursor to something else. */
const currentRules = `2/${ANALYSIS_VERSION}`

/** Where a page ends, and by what it came to its scores. */
export interface PagePosition extends KeywordPosition {
  readonly statistics?: readonly number[] | undefined
}

/**
 * The cursors of keyword search. A page goes on from a score, which another index need not give: after an upgrade by
 * which it is made anew, those from before are refused, and the reader is told that this is nothing it did.
 */
export class KeywordCursors {
  readonly #cursors: Cursors
  readonly #rules: string

  constructor(cursors: Cursors, rules = currentRules) {
    this.#cursors = cursors
    this.#rules = rules
  }

  sign(binding: unknown, position: PagePosition): string {
    return this.#cursors.sign(binding, { ...position, rules: this.#rules })
  }

  async open(cursor: string, binding: unknown): Promise<PagePosition> {
    const opened = await this.#cursors.open<PagePosition & { readonly rules: string }>(cursor, binding)
    const rules = 'position' in opened ? (opened.position as { rules?: unknown } | null)?.rules : undefined
    if (typeof rules === 'string' && rules !== this.#rules) {
      throw invalid('cursor', 'is from before the search index was made anew: start from the first page')
    }
    if (!opened.ok) {
      const message =
        'does not belong to this request: repeat the request unchanged, with the same limit, or start from the first page'
      throw invalid('cursor', message)
    }
    const { key, documentId, statistics } = opened.position
    return { key, documentId, ...(statistics === undefined ? {} : { statistics }) }
  }
}
