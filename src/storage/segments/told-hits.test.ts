import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import { everything, put, queryOf, timeoutMs } from '../../../test/contracts/index-under-test.ts'
import { assertToldAsScored } from '../../../test/contracts/same-answers.ts'
import { type DocumentHit, noFilters } from '../../search/search-index.ts'

/** Of nine documents every third has no vector and every fourth no word of the query; they lie in several segments. */
const documents = Array.from({ length: 9 }, (_, i) =>
  put(`d${i}`, [i % 4 === 0 ? 'nothing of it' : 'tidal power', `power number ${i}`], {
    vectors:
      i % 3 === 0
        ? []
        : [
            [1, i],
            [i, 1],
          ],
  }),
)

const asked = { scope: everything, filters: noFilters, timeoutMs }
const words = { query: queryOf('tidal power'), limit: 9, after: null, otherChunksMax: 0, explainFirst: true }
const keyword = { ...asked, ...words }
const vector = { ...asked, profileId: 'p', vector: [1, 2], topK: 9 }

const toldBy = ({ language, publishedAt, titleLength }: DocumentHit) =>
  titleLength === undefined ? undefined : { language, publishedAt, titleLength }

async function withIndex(use: (index: InProcessSegments) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'told-hits-'))
  const index = new InProcessSegments({ path: join(folder, 'index'), sealChunks: 4, segmentChunks: 8 })
  try {
    await use(index)
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

test('every hit tells what the other search says of it, whether one thread searches or several do', async () => {
  await withIndex(async (index) => {
    for (const [i, change] of documents.entries()) {
      await index.apply({ position: i + 1, changes: [change] })
      index.tidy(10)
    }
    const { segments } = await index.health()
    assert.ok(segments > 1)
    for (const parts of [1, 2]) {
      index.parts = parts
      assert.equal(await assertToldAsScored(index, keyword, vector), 15)
      const page = await index.keyword(keyword)
      assert.ok(page.outcome === 'found' && page.hits[0]!.parts !== undefined)
    }
  })
})

test('a hit tells the columns of the current version where no other is searched', async () => {
  await withIndex(async (index) => {
    const vectors = [[1, 2]]
    const earlier = { version: 'd v1', title: 'one', columns: { language: 'de' }, current: false, vectors }
    const current = { version: 'd v2', title: 'two words', columns: { language: 'en', publishedAt: 5 }, vectors }
    const changes = [put('d', ['tidal power'], earlier), put('d', ['tidal power'], current)]
    const undated = put('e', ['tidal'], { columns: { language: null, publishedAt: null }, vectors })
    await index.apply({ position: 1, changes: [...changes, undated] })
    const told = async (includeNonCurrent: boolean) => {
      const filters = { ...noFilters, includeNonCurrent }
      const near = [{ profileId: 'p', vector: [1, 2], filters }]
      const pages = [
        await index.keyword({ ...keyword, filters, near }),
        await index.vector({ ...vector, filters, words: { query: keyword.query, filters } }),
      ]
      return pages.map((page) => {
        assert.ok(page.outcome === 'found')
        return Object.fromEntries(page.hits.map((hit) => [hit.documentId, toldBy(hit)]))
      })
    }
    const columns = {
      d: { language: 'en', publishedAt: 5, titleLength: 2 },
      e: { language: null, publishedAt: null, titleLength: 0 },
    }
    for (const parts of [1, 2]) {
      index.parts = parts
      assert.deepEqual(await told(false), [columns, columns])
      assert.deepEqual(await told(true), [
        { d: undefined, e: undefined },
        { d: undefined, e: undefined },
      ])
    }
  })
})
