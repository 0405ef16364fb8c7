import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import { everything, fieldOf, put, queryOf } from '../../../test/contracts/index-under-test.ts'
import { noFilters } from '../../search/search-index.ts'

const words = Array.from({ length: 12 }, (_, i) => `w${i}`)
/** The first words are common, the last rare. */
const text = (maxLength: number) =>
  fc
    .array(
      fc.nat(77).map((draw) => words[11 - Math.floor((Math.sqrt(8 * draw + 1) - 1) / 2)]!),
      { maxLength },
    )
    .map((drawn) => drawn.join(' '))

/**
 * FTS5's bm25 with the same weights. Its idf is ln((N - n + 0.5) / (n + 0.5)), floored just above zero, ours is ln(1 +
 * ...). Both give the same order for one term or one phrase alone, and for several terms that are equally frequent. The
 * test compares these.
 */
test('ranks like FTS5 on the same words', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'segments-'))
  const index = new InProcessSegments({ path: join(folder, 'index.db'), sealChunks: 6, segmentChunks: 24 })
  let compared = 0
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(text(4), text(20)), { minLength: 5, maxLength: 40 }), async (texts) => {
        await index.clear()
        const db = new DatabaseSync(':memory:')
        db.exec('create virtual table fts using fts5(title, body)')
        const insert = db.prepare('insert into fts(rowid, title, body) values (?, ?, ?)')
        for (const [i, [title, body]] of texts.entries()) {
          insert.run(i + 1, title, body)
          await index.apply({ position: i + 1, changes: [put(`d${i + 1}`, [body], { title })] })
          index.runBackground(2)
        }
        const count = (word: string) =>
          texts.filter(([title, body]) => fieldOf(`${title} ${body}`).terms.includes(word)).length
        const pairs = words.flatMap((a, i) => words.slice(i + 1).map((b) => [a, b] as const))
        const equallyFrequent = pairs.filter(([a, b]) => count(a) === count(b) && count(a) * 2 < texts.length)
        const queries = [
          ...words.map((word) => [word, word]),
          ...pairs.slice(0, 20).map(([a, b]) => [`"${a}_${b}"`, `"${a} ${b}"`]),
          ...equallyFrequent.map(([a, b]) => [`${a} ${b}`, `${a} OR ${b}`]),
          ...equallyFrequent.map(([a, b]) => [`+${a} +${b}`, `${a} AND ${b}`]),
        ]
        const search = db.prepare('select rowid, bm25(fts, 3.0, 1.0) as score from fts where fts match ?')
        for (const [ours, theirs] of queries) {
          const scores = new Map(search.all(theirs!).map((row) => [`d${row.rowid}`, -Number(row.score)]))
          const request = { scope: everything, filters: noFilters, limit: 100, after: null, otherChunksMax: 0 }
          const page = await index.keyword({ ...request, query: queryOf(ours!), timeoutMs: 60_000 })
          assert.ok(page.outcome === 'found')
          assert.deepEqual(page.hits.map((hit) => hit.documentId).sort(), [...scores.keys()].sort())
          const ordered = page.hits.map((hit) => scores.get(hit.documentId)!)
          ordered.forEach((score, i) => {
            // With a floored idf FTS5's scores are around 1e-6, so they are compared in proportion.
            if (i > 0) assert.ok(score <= ordered[i - 1]! * (1 + 1e-9), `${ours}: ${ordered}`)
          })
          compared += ordered.length
        }
        db.close()
      }),
      { numRuns: 25 },
    )
    assert.ok(compared > 1000)
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
