import type { Scope } from '../access/scope.ts'
import type { Caller } from '../fair-queue/caller.ts'
import { Degradations } from './degradations.ts'
import { fuse } from './fuse/fuse.ts'
import { inSlot } from './in-slot.ts'
import type { Paging } from './parse/keyword-cursors.ts'
import { type ParsedSearch, parse } from './parse/parse.ts'
import type { Mode, SearchBody, SearchRequest } from './parse/search-request.ts'
import { countFacets } from './present/count-candidates.ts'
import { present } from './present/present.ts'
import type { SearchResult } from './present/search-result.ts'
import { crossEncode } from './rerank/cross-encode.ts'
import { rank } from './rerank/rank.ts'
import { queryVectors } from './retrieve/query-vectors.ts'
import { retrieve } from './retrieve/retrieve.ts'
import { SearchDeadlines } from './retrieve/search-deadlines.ts'
import type { RunningSearch, SearcherParts } from './running-search.ts'
import { SearchTime } from './search-time.ts'

/**
 * Runs a search in every mode, from its body to its page. Each step has a folder of the same name. If a step cannot
 * produce its part, it adds a degradation, and the answer contains a warning.
 */
export class Searcher {
  readonly #parts: SearcherParts

  constructor(parts: SearcherParts) {
    this.#parts = parts
  }

  /**
   * The first step, before the search is admitted. A vector of the caller must have the dimensions of the default
   * profile.
   */
  parse(body: SearchBody, fixedMode: Mode | null): ParsedSearch {
    return parse(body, fixedMode, this.#parts.embedder.dimensions)
  }

  /** The other steps. Rejects with the reason of the caller's signal if it is aborted. */
  async search(
    request: SearchRequest,
    scope: Scope,
    paging: Paging | null,
    caller: Caller,
    time: SearchTime = new SearchTime(),
  ): Promise<SearchResult> {
    const parts = time.timed(this.#parts)
    const degradations = new Degradations()
    // Read before the search: the refill may end during it and add documents that this search no longer finds.
    const incompleteness = parts.isRefilling()
      ? 'search_index_rebuilding'
      : parts.isBehind()
        ? 'search_index_behind'
        : null
    const deadlines = new SearchDeadlines(request.mode)
    const vectors = await queryVectors(parts, request, scope, caller, deadlines.vectors, time)
    caller.signal.throwIfAborted()
    const state = {
      request,
      scope,
      paging,
      caller,
      vectors,
      deadlines,
      keywordDeadline: deadlines.words,
      time,
      degradations,
    }
    const running: RunningSearch = { ...parts, ...state }
    // The embedding and the cross-encoder are awaited outside of the slot, because they do not use the shared cores.
    const ranked = await inSlot(running, async (hasSlot) => {
      const retrieved = await retrieve(running, hasSlot)
      const candidates = await fuse(running, retrieved)
      const [best, facets] = await Promise.all([
        rank(running, retrieved, candidates),
        countFacets(running, retrieved, candidates),
      ])
      return { retrieved, best, facets }
    })
    const { retrieved, facets } = ranked
    const best = await crossEncode(running, ranked.best)
    if (incompleteness !== null) degradations.add(incompleteness, null)
    return present(running, retrieved, best, facets)
  }
}
