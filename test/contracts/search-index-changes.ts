import assert from 'node:assert/strict'
import { test } from 'node:test'
import { preparePortion } from '../../src/indexing/prepare-portion.ts'
import { changesOf } from '../../src/indexing/read-packed.ts'
import { newId } from '../../src/platform/ids.ts'
import { noFilters } from '../../src/search/search-index.ts'
import { chunksOf } from '../../src/search/version-chunks.ts'
import { columns, everything, type IndexUnderTest, ids, listing, put } from './index-under-test.ts'

/** How changes take effect. */
export function changesExamples(it: () => IndexUnderTest): void {
  test('a new version replaces the old one in one step; the old one stays for requests that include it', async () => {
    await it().start(
      put('d1', ['old text', 'old more'], {
        version: 'v1',
        vectors: [
          [1, 0],
          [1, 0],
        ],
      }),
    )
    await it().apply(put('d1', ['new text'], { version: 'v2', vectors: [[0, 1]] }))
    assert.deepEqual(await it().found('old'), [])
    assert.deepEqual(await it().found('new'), ['d1'])
    const all = { filters: { ...noFilters, includeNonCurrent: true } }
    const { hits, totalChunks } = await it().find('text', all)
    assert.equal(totalChunks, 2)
    assert.equal(hits.length, 1)
    assert.equal((await it().find('old', all)).hits[0]!.versionId, 'v1')
    assert.deepEqual(
      (await it().near([1, 0])).map((hit) => hit.versionId),
      ['v2'],
    )
    assert.equal((await it().near([1, 0], everything, all.filters))[0]!.versionId, 'v1')
    await it().apply({ kind: 'retire_version', documentId: 'd1', versionId: 'v1' })
    assert.deepEqual(await it().found('old', all), [])
    await it().apply(put('d1', ['third text'], { version: 'v2' }))
    assert.deepEqual(await it().found('new', all), [])
    assert.deepEqual(await it().found('third'), ['d1'])
    await it().apply(put('d1', ['draft text'], { version: 'v3', current: false }))
    assert.equal((await it().find('text')).hits[0]!.versionId, 'v2')
    await it().apply({ kind: 'retire_document', documentId: 'd1' })
    assert.deepEqual(await it().found('text', all), [])
    assert.equal((await it().index.health()).chunks, 0)
  })

  test('searches during a replacement see the old version or the new one, never both and never none', async () => {
    await it().start(put('d1', ['word zero'], { version: 'v0' }))
    let writing = true
    const writes = (async () => {
      for (let i = 1; i <= 20; i++) await it().apply(put('d1', [`word ${i}`], { version: `v${i}` }))
      writing = false
    })()
    while (writing) {
      const { totalChunks, hits } = await it().find('word')
      assert.equal(totalChunks, 1)
      assert.equal(hits.length, 1)
    }
    await writes
  })

  test('packed changes have the same effect as unpacked ones', async () => {
    const vectors = [{ profileId: 'p', chunkId: '', vector: Float32Array.of(1, 0) }]
    const versions = ['Small boats sail, sailing boats are small.', 'A boat that sails; naïve résumés.'].map(
      (body) => ({
        versionId: newId('ver'),
        current: true,
        language: 'en',
        title: 'Boats',
        body,
        vectors,
      }),
    )
    const documents = versions.map((version, i) => {
      const document = { documentId: newId('doc'), revision: i + 1, columns, versions: [version] }
      const [chunk] = chunksOf(document.documentId, version)
      return { ...document, versions: [{ ...version, vectors: [{ ...vectors[0]!, chunkId: chunk!.chunkId }] }] }
    })
    const portion = await preparePortion({ documentsAfter: async () => documents }, 0, {
      documents: 9,
      characters: 999,
    })
    const answers = async () => [
      await it().find('boat'),
      await it().find('"sail boat"'),
      await it().find('small resum'),
      await it().near([1, 0]),
      (await it().index.health()).chunks,
    ]
    await it().start(...changesOf(portion!.changes))
    const unpacked = await answers()
    await it().start()
    await it().index.apply({ position: 2, changes: portion!.changes })
    assert.deepEqual(await answers(), unpacked)
    assert.equal(unpacked.at(-1), 2)
  })

  test('columns can change alone, and the vectors stay', async () => {
    await it().start(put('d1', ['word'], { vectors: [[1, 0]] }))
    await it().apply({ kind: 'set_columns', documentId: 'd1', columns: { ...columns, region: 'us', publishedAt: 77 } })
    assert.deepEqual(await it().found('word', { filters: { ...noFilters, regions: ['eu'] } }), [])
    assert.deepEqual(await it().found('word', { filters: { ...noFilters, publishedTo: 78 } }), ['d1'])
    assert.deepEqual(ids(await it().near([1, 0])), ['d1'])
  })

  test('a batch that was applied before changes nothing; one without a position is always applied', async () => {
    await it().start(put('d1', ['first']))
    await it().index.apply({ position: 5, changes: [put('d2', ['second'])] })
    await it().index.apply({ position: 5, changes: [put('d2', ['repeated'])] })
    await it().index.apply({ position: 2, changes: [{ kind: 'retire_document', documentId: 'd1' }] })
    assert.deepEqual(await it().found('first second repeated'), ['d1', 'd2'])
    assert.equal((await it().index.health()).position, 5)
    await it().index.apply({ position: null, changes: [put('d3', ['third'])] })
    assert.deepEqual(await it().found('third'), ['d3'])
    assert.equal((await it().index.health()).position, 5)
  })

  test('changes in one batch are applied in their order', async () => {
    await it().start(
      put('d1', ['first'], { version: 'v1' }),
      put('d1', ['second'], { version: 'v2' }),
      { kind: 'retire_version', documentId: 'd1', versionId: 'v1' },
      { kind: 'set_vector', documentId: 'd1', chunkId: 'v2 0', profileId: 'p', vector: [1, 1] },
      { kind: 'retire_document', documentId: 'none' },
      { kind: 'set_vector', documentId: 'none', chunkId: 'x', profileId: 'p', vector: [1, 1] },
      put('d2', ['gone']),
      { kind: 'retire_document', documentId: 'd2' },
    )
    const all = { filters: { ...noFilters, includeNonCurrent: true } }
    assert.deepEqual(await it().found('first gone', all), [])
    assert.deepEqual(await it().found('second'), ['d1'])
    assert.deepEqual(ids(await it().near([1, 0])), ['d1'])
  })

  test('a request without time left has the outcome timed_out', async () => {
    await it().start(put('d1', ['word'], { vectors: [[1, 1]] }))
    const late = { scope: everything, filters: noFilters, timeoutMs: -1 }
    assert.deepEqual(await it().index.keyword({ ...it().request('x'), ...late }), { outcome: 'timed_out' })
    assert.deepEqual(await it().index.vector({ ...late, profileId: 'p', vector: [1, 1], topK: 1 }), {
      outcome: 'timed_out',
    })
    assert.deepEqual(await it().index.values({ ...listing, timeoutMs: -1 }), { outcome: 'timed_out' })
  })
}
