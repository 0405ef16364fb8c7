import { setImmediate } from 'node:timers/promises'
import { writtenForm } from '../../text/fold-word.ts'
import type { Correction } from '../retrieve/correct-query.ts'
import { chunksOf } from '../retrieve/nearest.ts'
import type { Retrieved } from '../retrieve/retrieve.ts'
import type { RunningSearch } from '../running-search.ts'
import type { PresentedPage, Ranked } from '../search-texts.ts'
import type { SearchResult } from './search-result.ts'

/** The last step: makes the page, unless the ranking has already made it, and the cursor of the next page. */
export async function present(
  { request, scope, paging, texts, degradations }: RunningSearch,
  { query, corrections, words, near, topK, facets: counted }: Retrieved,
  ranked: Ranked,
  facets: SearchResult['facets'],
): Promise<SearchResult> {
  const { found } = ranked
  const { mode, fields, highlights, chunks } = request
  const next = mode === 'keyword' && words?.next ? { ...words.next, statistics: words.statistics } : null
  const [page, cursor] = await Promise.all([
    ranked.page ??
      (found.length === 0 ? emptyPage : texts.present({ found, query, fields, highlights, chunks }, scope)),
    next === null || paging === null ? null : afterSending(() => paging.sign(next)),
  ])
  const isIndexComplete = !degradations.has('search_index_rebuilding') && !degradations.has('search_index_behind')
  return {
    found,
    page,
    corrections: asWritten(corrections, page),
    // The size of the union is unknown; it is at least the larger of the two.
    totalChunks: Math.max(words?.totalChunks ?? 0, chunksOf(near?.hits ?? [])),
    topK,
    cursor,
    facets,
    facetsExact: counted !== null && isIndexComplete,
    vectorsPending: near?.vectorsPending ?? false,
    degradations: degradations.all,
  }
}

const emptyPage: PresentedPage = { results: [] }

/** Delays `work` until the request to the store has been sent, so that the store handles the request meanwhile. */
async function afterSending<T>(work: () => T): Promise<T> {
  await setImmediate()
  return work()
}

/** Restores the accents of corrections from the shown texts, because the index stores words without accents. */
function asWritten(corrections: readonly Correction[], { results }: PresentedPage): readonly Correction[] {
  if (corrections.length === 0) return []
  const texts = results.flatMap(({ title, body }) => [title ?? '', body ?? ''])
  return corrections.map(({ from, to }) => ({ from, to: writtenForm(to, texts) }))
}
