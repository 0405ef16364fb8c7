import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import { everything, put, queryOf, timeoutMs } from '../../../test/contracts/index-under-test.ts'
import { assertToldAsScored } from '../../../test/contracts/same-answers.ts'
import { assertTellsColumns, tellingDocuments } from '../../../test/contracts/tells-columns.ts'
import { noFilters } from '../../search/search-index.ts'

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
    await index.apply({ position: 1, changes: tellingDocuments })
    for (const parts of [1, 2]) {
      index.parts = parts
      await assertTellsColumns(index)
    }
  })
})
