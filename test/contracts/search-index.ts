import { after, before, describe } from 'node:test'
import type { SearchIndex } from '../../src/search/search-index.ts'
import { IndexUnderTest } from './index-under-test.ts'
import { changesExamples } from './search-index-changes.ts'
import { countsExamples } from './search-index-counts.ts'
import { keywordExamples } from './search-index-keyword.ts'
import { scopeExamples } from './search-index-scope.ts'
import { vectorsExamples } from './search-index-vectors.ts'
import { wordsExamples } from './search-index-words.ts'

/**
 * What every adapter of the port does, told in examples. `makeIndex` gives an empty index, which the suite closes.
 * Scores are compared with each other, never with numbers: an adapter may weigh otherwise as long as more is more.
 */
export function searchIndexContract(name: string, makeIndex: () => Promise<SearchIndex>): void {
  describe(`search index: ${name}`, () => {
    let underTest: IndexUnderTest
    before(async () => {
      underTest = new IndexUnderTest(await makeIndex())
    })
    after(() => underTest.index.close())

    const it = () => underTest
    keywordExamples(it)
    scopeExamples(it)
    changesExamples(it)
    countsExamples(it)
    vectorsExamples(it)
    wordsExamples(it)
  })
}
