import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf } from './content.ts'
import { fakeDimensions, fakeProfile } from './fake-embedding.ts'
import { type SearchWorld, startWorld } from './search-world.ts'

/** From acknowledged to found, while others search. */
let world: SearchWorld
before(async () => {
  world = await startWorld()
})

suite('indexing', () => {
  test('an acknowledged document is found, by words and by vectors', async () => {
    for (let i = 0; i < 5; i++) {
      await world.put(documentOf(`fresh-${i}`, { body: `Freshword${i} has just come in.` }))
      for (const mode of ['keyword', 'vector']) {
        await until(`${mode} finds it`, async () =>
          (await world.names({ query: `freshword${i}`, mode, limit: 1 })).includes(`fresh-${i}`),
        )
      }
    }
  })

  test('a new version takes the place of the old in one step: never both, never neither', async () => {
    await world.putIndexed(documentOf('swap', { title: 'Swapword 0', body: 'Swapword in version number0.' }))
    let stop = false
    let seen = 0
    const watch = async (): Promise<void> => {
      while (!stop) {
        const known = seen
        const { results, total_chunks } = await world.search({ query: '+swapword', include_highlights: true })
        assert.deepEqual(world.namesOf(results), ['swap'])
        assert.equal(total_chunks, 1)
        // Title and body belong to the same version.
        const number = /\d+/.exec(results[0]!.title!)![0]
        assert.match(results[0]!.body!, new RegExp(`number${number}\\.`))
        // A search that starts later never returns an older state.
        assert.ok(Number(number) >= known, 'an older version came back')
        seen = Math.max(seen, Number(number))
      }
    }
    const watching = Promise.all([watch(), watch(), watch()])
    try {
      for (let i = 1; i <= 12; i++) {
        await world.put(documentOf('swap', { title: `Swapword ${i}`, body: `Swapword in version number${i}.` }))
        await until(`version ${i}`, async () => (await world.names({ query: `+number${i}` })).length === 1)
        assert.deepEqual(await world.names({ query: `+number${i - 1}` }), [])
      }
    } finally {
      stop = true
    }
    await watching
    assert.equal(seen, 12)
  })

  test('a changed language, region, platform time or type is applied without a new version', async () => {
    const fields = { title: 'Columnword', body: 'Columnword stays.', published_at: '2026-01-01T00:00:00Z' }
    await world.putIndexed(documentOf('column', { ...fields, language: 'en', region: 'GB' }))
    const german = await world.application([{ datasets: ['news'], languages: ['de'], regions: ['DE'] }])
    const names = (key = world.key, more: object = {}) => world.names({ query: 'columnword', ...more }, key)
    assert.deepEqual(await names(german), [])
    assert.deepEqual(await names(world.key, { languages: ['en'] }), ['column'])
    await world.putIndexed(
      documentOf('column', { ...fields, language: 'de', region: 'DE', published_at: '2026-06-01T00:00:00Z' }),
    )
    await until('the new columns count', async () => (await names(german)).length === 1)
    assert.deepEqual(await names(world.key, { languages: ['en'] }), [])
    assert.deepEqual(await names(world.key, { published_to: '2026-02-01T00:00:00Z' }), [])
    assert.deepEqual(await names(world.key, { published_from: '2026-06-01T00:00:00Z', mode: 'vector' }), ['column'])
    const [hit] = (await world.search({ query: 'columnword' }, '/v1/search', german)).results
    assert.deepEqual([hit!.language, hit!.published_at], ['de', '2026-06-01T00:00:00.000Z'])
  })

  test('text that is taken away is found no more', async () => {
    await world.putIndexed(documentOf('gone', { title: 'Remainword', body: 'Vanishword here.' }))
    await world.putIndexed(documentOf('gone', { title: 'Remainword', body: null }))
    await until('the body is gone', async () => (await world.names({ query: 'vanishword' })).length === 0)
    assert.deepEqual(await world.names({ query: 'remainword' }), ['gone'])
    const [hit] = (await world.search({ query: 'remainword' })).results
    assert.equal(hit!.body, '')
  })

  test('/admin/v1/indexing tells how far it is, and comes to nothing waiting', async () => {
    const before = await world.indexing()
    assert.equal(before.state, 'ready')
    assert.deepEqual(before.warnings, [])
    world.embedding.delayMs = 300
    try {
      await world.put(...Array.from({ length: 100 }, (_, i) => documentOf(`many-${i}`, { body: `Manyword ${i}.` })))
      await until('words come before vectors', async () => {
        const { pending_documents, pending_vectors } = await world.indexing()
        return pending_documents === 0 && pending_vectors > 0
      })
      const during = await world.indexing()
      assert.equal(during.pending_chunks, during.pending_documents + during.pending_vectors)
      assert.ok(during.feeding && during.documents_per_second > 0)
      assert.ok(during.oldest_pending_seconds >= 0 && during.oldest_pending_seconds < 10)
      assert.equal((await world.names({ query: 'manyword', limit: 100 })).length, 100)
      const probe = (await world.server.call('GET', '/readyz')).body
      assert.equal(probe.ready, true)
      assert.match(probe.checks.index.detail, /vectors behind/)
    } finally {
      world.embedding.delayMs = 0
    }
    await world.indexed()
    const after = await world.indexing()
    assert.deepEqual([after.pending_documents, after.pending_vectors, after.oldest_pending_seconds], [0, 0, null])
    assert.equal(after.indexed_documents, before.indexed_documents + 100)
    assert.equal(after.indexed_chunks, before.indexed_chunks + 100)
    const profile = after.profiles.find(({ id }: { id: string }) => id === fakeProfile)
    assert.equal(profile.dimensions, fakeDimensions)
    assert.equal(profile.indexed_chunks, after.indexed_chunks - 1)
    assert.ok(after.memory_bytes > 0 && after.disk_bytes > 0)
    const probe = (await world.server.call('GET', '/readyz')).body
    assert.match(probe.checks.index.detail, /up to date/)
    // An application's key is not valid there.
    assert.equal((await world.server.consumer(world.key, 'GET', '/admin/v1/indexing')).status, 401)
    assert.equal((await world.server.admin('GET', '/admin/v1/indexing?x=1')).status, 400)
  })

  test('another model: all texts get its vectors, the words stay, and the way back is short', async () => {
    const { indexed_chunks } = await world.indexing()
    await world.server.restart({ TIDEMARK_EMBEDDING_MODEL: 'other-model' })
    assert.equal((await world.names({ query: 'manyword', limit: 100 })).length, 100)
    await world.indexed()
    const other = (await world.indexing()).profiles.find(({ id }: { id: string }) => id === 'other-model')
    // One chunk is a title without a body, and old versions are left as they are.
    assert.ok(other.indexed_chunks >= 100 && other.indexed_chunks <= indexed_chunks, JSON.stringify(other))
    assert.ok((await world.names({ query: 'manyword 17', mode: 'vector' })).includes('many-17'))
    world.embedding.texts.length = 0
    await world.put(documentOf('between', { body: 'Betweenword came under the other model.' }))
    await world.indexed()
    await world.server.restart(world.embedding.env)
    await world.indexed()
    // Only documents that arrived in between needed new vectors.
    assert.deepEqual(
      world.embedding.texts.filter((text) => text.includes('many')),
      [],
    )
    assert.equal((await world.names({ query: 'betweenword came', mode: 'vector' }))[0], 'between')
  })
})
