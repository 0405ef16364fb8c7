import type { Facet } from '../../src/search/facets.ts'
import {
  type CatalogConditions,
  type KeywordRequest,
  noFilters,
  type SearchIndex,
  type ValuesRequest,
} from '../../src/search/search-index.ts'
import { kinds, randomFrom, scopeOf } from './corpus.ts'

const timeoutMs = 60_000
const asks = 100
const warmUp = 10

const conditions: CatalogConditions = {
  authorId: null,
  topics: ['topic 0', 'topic 1', 'topic 2'],
  tags: null,
  classifications: null,
  scoreMin: null,
  scoreMax: null,
}
const counted = (...of: Facet[]) => ({ facets: { of, limit: 10 } })

/** What is asked beside the words. */
const additions: Readonly<Record<string, Partial<KeywordRequest>>> = {
  'no counts': {},
  'platform, language, day': counted('platform', 'language', { published_at: 'day' }),
  'topics, tags, author': counted('topics', 'tags', 'author'),
  '-published_at': { order: '-published_at' },
  'by topics': { conditions },
  'all of it': { ...counted('platform', 'topics', { published_at: 'month' }), order: '-score', conditions },
}

const listings: Readonly<Record<string, Pick<ValuesRequest, 'field' | 'prefix'>>> = {
  'values of platform': { field: 'platform', prefix: '' },
  'values of topics': { field: 'topics', prefix: '' },
  'values of tags, prefix': { field: 'tags', prefix: 'tag 12' },
}

/** Common words, of which more than anything else is counted; what a row is called, its times, and how much matched. */
export async function countCells(
  index: SearchIndex,
  tell: (name: string, times: readonly number[], matches: number) => void,
): Promise<void> {
  for (const share of ['100 %', '50 %'] as const) {
    const scope = scopeOf(share)
    for (const [name, more] of Object.entries(additions)) {
      const random = randomFrom(31)
      const page = { scope, filters: noFilters, limit: 20, after: null, otherChunksMax: 0, timeoutMs }
      await timed(`${name} ${share}`, tell, async () => {
        const found = await index.keyword({ query: kinds.common!(random).query, ...page, ...more })
        return found.outcome === 'found' ? found.totalChunks : Number.NaN
      })
    }
    for (const [name, listed] of Object.entries(listings)) {
      await timed(`${name} ${share}`, tell, async () => {
        const found = await index.values({ scope, ...listed, after: null, limit: 50, timeoutMs })
        return found.outcome === 'found' ? found.values.length : Number.NaN
      })
    }
  }
}

async function timed(
  name: string,
  tell: (name: string, times: readonly number[], matches: number) => void,
  ask: () => Promise<number>,
): Promise<void> {
  const times: number[] = []
  let matches = 0
  for (let i = 0; i < asks + warmUp; i++) {
    const start = performance.now()
    matches += await ask()
    if (i >= warmUp) times.push(performance.now() - start)
  }
  tell(name, times, Math.round(matches / (asks + warmUp)))
}
