import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { InProcessSegments } from '../../../../test/contracts/in-process-segments.ts'
import { entry, put, queryOf } from '../../../../test/contracts/index-under-test.ts'
import type { ScopeEntry } from '../../../access/scope.ts'
import type { IndexChange } from '../../../indexing/fed-index.ts'
import { noFilters } from '../../../search/search-index.ts'

/** Enough for lists whose counts are cached. */
const documents = 5000
const languages = ['en', 'fr', 'de']
const words = ['tide', 'mark', 'shore']

/** A document contains a word depending on divisors of its number, in some cases in the title. */
function documentOf(i: number): IndexChange {
  const body = words.filter((_, word) => i % (word + 2) !== 0).join(' ')
  const columns = { language: languages[i % 3]!, publishedAt: i }
  return put(`d${i}`, [body, `${body} tide`.repeat(i % 2)], { title: i % 5 === 0 ? 'shore' : '', columns })
}

const scopes: Record<string, Partial<ScopeEntry>> = {
  everything: {},
  'one language': { languages: ['fr'] },
  titles: { fields: ['title'] },
  bodies: { fields: ['body'], languages: ['en', 'de'] },
  'a time': { publishedFrom: 700, publishedTo: 4100 },
}

test('cached counts follow deletions, few or many, and equal those of a reopened index', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'segments-'))
  const layout = { sealChunks: 4096, segmentChunks: 65_536 }
  const cached = new InProcessSegments({ path: join(folder, 'cached.db'), ...layout })
  const reopened = new InProcessSegments({ path: join(folder, 'reopened.db'), ...layout })
  let position = 0
  const apply = async (changes: readonly IndexChange[]) => {
    position++
    for (const index of [cached, reopened]) await index.apply({ position, changes })
  }
  const ask = async (index: InProcessSegments, narrower: Partial<ScopeEntry>) => {
    const request = { scope: { entries: [{ ...entry, ...narrower }] }, filters: noFilters, timeoutMs: 60_000 }
    const queries = [...words, 'tide mark shore', '"tide_mark"'].map(queryOf)
    const pages = queries.map((query) =>
      index.keyword({ ...request, query, limit: 20, after: null, otherChunksMax: 1 }),
    )
    return JSON.stringify(await Promise.all(pages))
  }
  const compare = async () => {
    reopened.reopen()
    for (const [name, narrower] of Object.entries(scopes)) {
      assert.equal(await ask(cached, narrower), await ask(reopened, narrower), name)
    }
  }
  try {
    await apply(Array.from({ length: documents }, (_, i) => documentOf(i)))
    for (const index of [cached, reopened]) await index.checkpoint()
    await compare()
    const shuffled = Array.from({ length: documents }, (_, i) => `d${(i * 7) % documents}`)
    for (const deletions of [1, 3, 40, 900, 2]) {
      const removed = shuffled.splice(0, deletions)
      await apply(removed.map((documentId) => ({ kind: 'retire_document', documentId })))
      await compare()
    }
    // The rewritten documents are in their own segment, and the old ones stay deleted.
    await apply([documentOf(7), documentOf(14)])
    await compare()
    assert.ok((await cached.health()).deletedChunks > 900)
  } finally {
    await Promise.all([cached.close(), reopened.close()])
    rmSync(folder, { recursive: true, force: true })
  }
})
