import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeywordPosition, KeywordRequest } from '../../src/search/search-index.ts'
import { type IndexUnderTest, ids, put, queryOf } from './index-under-test.ts'

/** Keyword search: its matches, their order and paging. */
export function keywordExamples(it: () => IndexUnderTest): void {
  test('an empty index finds nothing and is healthy', async () => {
    assert.deepEqual(await it().find('word'), { outcome: 'found', hits: [], totalChunks: 0, next: null })
    assert.deepEqual(await it().near([1, 2, 3]), [])
    const health = await it().index.health()
    assert.equal(health.state, 'ready')
    assert.equal(health.position, 0)
  })

  test('any, must, must-not, alternatives and phrases', async () => {
    await it().start(
      put('d1', ['red green blue']),
      put('d2', ['green red']),
      put('d3', ['blue grey']),
      put('d4', ['black']),
    )
    assert.deepEqual((await it().found('red blue')).sort(), ['d1', 'd2', 'd3'])
    assert.deepEqual(await it().found('+red +blue'), ['d1'])
    assert.deepEqual((await it().found('+red blue')).sort(), ['d1', 'd2'])
    assert.equal((await it().found('+red blue'))[0], 'd1')
    assert.deepEqual(await it().found('blue -red'), ['d3'])
    assert.deepEqual(await it().found('"red_green"'), ['d1'])
    assert.deepEqual((await it().found('"red|green_green|red"')).sort(), ['d1', 'd2'])
    assert.deepEqual(await it().found('green -"red_green"'), ['d2'])
    assert.deepEqual((await it().found('grey|black')).sort(), ['d3', 'd4'])
    assert.deepEqual(await it().found('-red'), [])
    assert.deepEqual(await it().found('+red +nowhere'), [])
    assert.deepEqual(await it().index.keyword({ ...it().request('x'), query: { clauses: [], boosts: [] } }), {
      outcome: 'found',
      hits: [],
      totalChunks: 0,
      next: null,
    })
  })

  test('phrases respect positions: gaps separate words, and terms at one position are adjacent to both neighbours', async () => {
    const gap = { terms: ['big', 'house'], positions: [0, 2], length: 3 }
    const both = { terms: ['big', 'houses', 'house', 'here'], positions: [0, 1, 1, 2], length: 3 }
    const d1 = put('d1', [''])
    const d2 = put('d2', [''])
    await it().start(
      { ...d1, chunks: [{ ...d1.chunks[0]!, body: gap }] },
      { ...d2, chunks: [{ ...d2.chunks[0]!, body: both }] },
    )
    assert.deepEqual(await it().found('"big_house"'), ['d2'])
    assert.deepEqual(await it().found('"big_houses_here"'), ['d2'])
    assert.deepEqual(await it().found('"houses_house"'), [])
  })

  test('frequent occurrence, a rare word, a short text and the title raise the score', async () => {
    await it().start(
      put('often', ['sea sea sea land land']),
      put('once', ['sea land land land land']),
      put('short', ['sand sea']),
      put('long', [`sand sea ${'land '.repeat(30)}`]),
      put('titled', ['land land land land'], { title: 'shore' }),
      put('bodied', ['shore land land land land']),
    )
    const sea = await it().found('sea')
    assert.ok(sea.indexOf('often') < sea.indexOf('once'))
    assert.ok(sea.indexOf('short') < sea.indexOf('long'))
    assert.deepEqual(await it().found('shore'), ['titled', 'bodied'])
    assert.deepEqual((await it().found('land shore')).slice(0, 2).sort(), ['bodied', 'titled'])
  })

  test('a document is listed once, with its best chunk and the others', async () => {
    await it().start(
      put('d1', ['one word here', 'word word word', 'nothing', 'a word and more and more']),
      put('d2', ['word']),
    )
    const { hits, totalChunks } = await it().find('word')
    assert.equal(totalChunks, 4)
    const hit = hits.find(({ documentId }) => documentId === 'd1')!
    assert.equal(hits.length, 2)
    assert.equal(hit.chunkId, 'd1 v1 1')
    assert.equal(hit.versionId, 'd1 v1')
    assert.deepEqual(
      hit.otherChunks.map(({ chunkId }) => chunkId),
      ['d1 v1 0', 'd1 v1 3'],
    )
    assert.ok(hit.score > hit.otherChunks[0]!.score && hit.otherChunks[0]!.score > hit.otherChunks[1]!.score)
    assert.equal(
      (await it().find('word', { otherChunksMax: 1 })).hits.find((one) => one.documentId === 'd1')!.otherChunks.length,
      1,
    )
  })

  test('equal scores are ordered by document id', async () => {
    await it().start(...['c', 'a', 'ü', 'b'].map((id) => put(id, ['same words'])))
    assert.deepEqual(await it().found('same'), ['a', 'b', 'c', 'ü'])
  })

  test('pages list every document once, in the order of one long page', async () => {
    const bodies = Array.from({ length: 25 }, (_, i) => `${'pick '.repeat(1 + (i % 3))}${'rest '.repeat(i % 7)}`)
    await it().start(...bodies.map((body, i) => put(`d${String(i).padStart(2, '0')}`, [body, body])))
    const whole = await it().find('pick')
    assert.equal(whole.totalChunks, 50)
    assert.equal(whole.next, null)
    const paged: string[] = []
    let next: KeywordPosition | null = null
    do {
      const page: Awaited<ReturnType<IndexUnderTest['find']>> = await it().find('pick', { limit: 4, after: next })
      assert.equal(page.totalChunks, 50)
      paged.push(...ids(page.hits))
      next = page.next
    } while (next !== null)
    assert.deepEqual(paged, ids(whole.hits))
  })

  test('pages list every document once while others are added, although that changes all scores', async () => {
    const bodies = Array.from({ length: 25 }, (_, i) => `${'pick '.repeat(1 + (i % 3))}${'rest '.repeat(i % 7)}`)
    await it().start(...bodies.map((body, i) => put(`d${String(i).padStart(2, '0')}`, [body])))
    const whole = ids((await it().find('pick')).hits)
    const paged: string[] = []
    let from: Pick<KeywordRequest, 'after' | 'statistics'> = { after: null, statistics: undefined }
    for (let page = 0; page === 0 || from.after !== null; page++) {
      const { hits, next, statistics } = await it().find('pick', { limit: 4, ...from })
      paged.push(...ids(hits))
      from = { after: next, statistics }
      // One document that matches and sorts first; others that do not match.
      if (page % 2 === 0) await it().apply(put(`a${page}`, ['pick pick pick pick']))
      else await it().apply(put(`x${page}`, ['other words']), put(`y${page}`, ['some more']))
    }
    assert.deepEqual(paged, whole)
  })

  test('paging continues from its position when the document there was removed', async () => {
    await it().start(put('a', ['word']), put('b', ['word']), put('c', ['word']), put('d', ['word']))
    const first = await it().find('word', { limit: 2 })
    assert.deepEqual(ids(first.hits), ['a', 'b'])
    await it().apply({ kind: 'retire_document', documentId: 'b' }, put('e', ['word']))
    const rest = ids(
      (
        await it().find('word', {
          limit: 10,
          after: { ...first.next!, key: (await it().find('word')).hits[0]!.score },
        })
      ).hits,
    )
    assert.deepEqual(rest, ['c', 'd', 'e'])
  })

  test('unusual requests are answered', async () => {
    await it().start(put('', ['word \u{1F600} \uD800 \0'], { title: '', version: '' }), put('d2', []))
    for (const text of ['', '\0', '\u{1F600}', '\uD800', '"_"', '"word"', '++', '|', 'word|word']) await it().find(text)
    assert.deepEqual((await it().find('word', { limit: 0 })).hits, [])
    assert.equal((await it().find('word', { limit: 0 })).totalChunks, 1)
    assert.deepEqual(await it().found('word', { limit: 1e9, after: { key: Infinity, documentId: 'zzz' } }), [''])
    assert.deepEqual(await it().found('word', { after: { key: -1, documentId: '' } }), [])
    const long = { clauses: Array.from({ length: 500 }, () => queryOf('word').clauses[0]!), boosts: [] }
    assert.deepEqual(await it().found('', { query: long }), [''])
  })
}
