import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { browsePath, Catalog, datasetsOf } from './catalog-requests.ts'
import { expectError } from './expect-error.ts'
import { noVectors } from './harness.ts'

const datasets = datasetsOf('unavailable')

suite('a store that does not answer in time', () => {
  test('is 503 catalog_unavailable with Retry-After, and answers again when there is time', async () => {
    const catalog = await Catalog.start(datasets, { ...noVectors, TIDEMARK_CATALOG_TIMEOUT_MS: '1' })
    const tags = Array.from({ length: 50 }, (_, i) => `t${i}`)
    const documents = Array.from({ length: 200 }, (_, i) => [
      `d${i}`,
      { tags, topics: tags, score: i, author: { external_author_id: 'u', biography: 'x'.repeat(2000) } },
    ])
    await catalog.send(Object.fromEntries(documents))
    // 200 full documents, found by 100 values, take longer than a millisecond; thirty such requests at once much
    // longer.
    const heavy = { tags: tags.join(','), topics: tags.join(','), limit: 200, include_snapshot: true }
    const answers = await Promise.all([
      ...Array.from({ length: 30 }, () => catalog.get(browsePath, heavy)),
      ...Array.from({ length: 30 }, () => catalog.get('/v1/users/rss/u/documents', heavy)),
    ])
    const late = answers.filter(({ status }) => status !== 200)
    assert.ok(late.length > 0)
    for (const answer of late) {
      await expectError(catalog.server, answer, 503, 'catalog_unavailable')
      assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
      assert.match(answer.body.message, /narrow the window/)
    }

    await catalog.server.restart({ TIDEMARK_CATALOG_TIMEOUT_MS: '60000' })
    assert.equal((await catalog.list(heavy)).documents.length, 200)
  })
})
