import { after, before, describe } from 'node:test'
import type { SearchIndex } from '../../src/indexing/fed-index.ts'
import { IndexUnderTest } from './index-under-test.ts'
import { changesExamples } from './search-index-changes.ts'
import { countsExamples } from './search-index-counts.ts'
import { keywordExamples } from './search-index-keyword.ts'
import { scopeExamples } from './search-index-scope.ts'
import { vectorsExamples } from './search-index-vectors.ts'
import { wordsExamples } from './search-index-words.ts'

/**
 * The contract of every adapter of the port, in examples. `makeIndex` returns an empty index, which the suite closes.
 * Scores are only compared with each other, because an adapter may weigh differently as long as the order is right.
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
