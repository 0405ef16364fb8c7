import type { Cursors } from '../../platform/cursors.ts'
import { indexRules } from '../index-rules.ts'
import type { KeywordPosition } from '../search-index.ts'
import { invalid } from './search-request.ts'

/**
 * The version of the rules for scores and bindings. Increase the number when `bindingOf` binds a cursor to something
 * else.
 */
const currentRules = `3/${indexRules}`

/** The position at the end of a page, and the statistics of its scores. */
export interface PagePosition extends KeywordPosition {
  readonly statistics?: readonly number[] | undefined
}

/** The position at which a page starts, and a function that makes the cursor of the next page. */
export interface Paging {
  /** Null on the first page. */
  readonly after: PagePosition | null
  sign(next: PagePosition): string
}

/**
 * The cursors of keyword search (keyset paging). A page continues after a score, which a rebuilt index may not
 * reproduce. So after an upgrade that rebuilds the index, older cursors are refused, with an error that gives this
 * reason.
 */
export class KeywordCursors {
  readonly #cursors: Cursors
  readonly #rules: string

  constructor(cursors: Cursors, rules = currentRules) {
    this.#cursors = cursors
    this.#rules = rules
  }

  async paging(cursor: string | null, binding: () => unknown): Promise<Paging> {
    const after = cursor === null ? null : await this.open(cursor, binding())
    return { after, sign: (next) => this.sign(binding(), next) }
  }

  sign(binding: unknown, position: PagePosition): string {
    return this.#cursors.sign(binding, { ...position, rules: this.#rules })
  }

  async open(cursor: string, binding: unknown): Promise<PagePosition> {
    const opened = await this.#cursors.open<PagePosition & { readonly rules: string }>(cursor, binding)
    const rules = 'position' in opened ? (opened.position as { rules?: unknown } | null)?.rules : undefined
    if (typeof rules === 'string' && rules !== this.#rules) {
      throw invalid('cursor', 'is from before the search index was rebuilt: start from the first page')
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
