import { setImmediate } from 'node:timers/promises'
import { writtenForm } from '../../text/fold-word.ts'
import type { Correction } from '../retrieve/correct-query.ts'
import { chunksOf } from '../retrieve/nearest.ts'
import type { Retrieved } from '../retrieve/retrieve.ts'
import type { RunningSearch } from '../running-search.ts'
import type { PresentedPage, Ranked } from '../search-texts.ts'
import type { SearchResult } from './search-result.ts'

/** The last step: makes the page, unless the ranking has made it already, and the cursor of the next page. */
export async function present(
  { request, scope, paging, texts, shortfalls }: RunningSearch,
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
    next === null || paging === null ? null : whileWaiting(() => paging.sign(next)),
  ])
  const isWhole = !shortfalls.has('search_index_rebuilding') && !shortfalls.has('search_index_behind')
  return {
    found,
    page,
    corrections: asWritten(corrections, page),
    // The total of both branches is not known; it is at least the larger of the two.
    totalChunks: Math.max(words?.totalChunks ?? 0, chunksOf(near?.hits ?? [])),
    topK,
    cursor,
    facets,
    facetsExact: counted !== null && isWhole,
    vectorsPending: near?.vectorsPending ?? false,
    shortfalls: shortfalls.all,
  }
}

const emptyPage: PresentedPage = { results: [] }

/**
 * Runs `work` after the request to the store has been sent, which takes a few turns of the event loop: the store
 * answers meanwhile.
 */
async function whileWaiting<T>(work: () => T): Promise<T> {
  await setImmediate()
  return work()
}

/** Corrections with the accents that the shown texts have: the index stores words without accents. */
function asWritten(corrections: readonly Correction[], { results }: PresentedPage): readonly Correction[] {
  if (corrections.length === 0) return []
  const texts = results.flatMap(({ title, body }) => [title ?? '', body ?? ''])
  return corrections.map(({ from, to }) => ({ from, to: writtenForm(to, texts) }))
}
