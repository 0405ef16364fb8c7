import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { documentsOf, type Sent, send } from './content.ts'
import { expectError } from './expect-error.ts'
import type { Answer } from './harness.ts'
import { type SearchWorld, sharedWorld } from './search-world.ts'

const datasets = ['versions-news', 'versions-forum'] as const
const [news] = datasets
const documentOf = documentsOf(news)

/**
 * A version is readable by its own language, or by the document's if it has none. All other values are the document's.
 */
suite('versions in several languages', () => {
  let world: SearchWorld
  let german: string
  let french: string
  /** One document was French, then without a language, and is German now; the other went the opposite way. */
  const ids: Record<string, string> = {}
  const versions: Record<string, string[]> = {}

  before(async () => {
    world = await sharedWorld(datasets)
    german = await world.application([{ datasets: [news], languages: ['de'] }])
    french = await world.application([{ datasets: [news], languages: ['fr'] }])
    await put('now-german', { title: 'Le port', body: 'Le vieux port kelp.', language: 'fr' })
    await put('now-german', { title: 'Port', body: 'A port kelp.', language: null })
    await put('now-german', { title: 'Der Hafen', body: 'Der neue Hafen kelp.', language: 'de' })
    await put('now-french', { title: 'Die Möwe', body: 'Die alte Möwe kelp.', language: 'de' })
    await put('now-french', { title: 'La mouette', body: 'La mouette kelp.', language: 'fr' })
    await world.indexed()
  })

  async function put(name: string, fields: Sent): Promise<void> {
    const [result] = await send(world.server, world.collector, [documentOf(name, fields)])
    ids[name] = result!.document_id!
    versions[name] = [...(versions[name] ?? []), result!.version_id!]
  }
  const get = (key: string, name: string, rest = ''): Promise<Answer> =>
    world.server.consumer(key, 'GET', `/v1/documents/${ids[name]}${rest}`)
  const titles = async (key: string, name: string): Promise<string[]> => {
    const { status, text, body } = await get(key, name, '/versions')
    assert.equal(status, 200, text)
    return body.versions.map((version: { title: string }) => version.title)
  }
  const content = (key: string, name: string, version: number): Promise<Answer> =>
    get(key, name, `/content?version_id=${versions[name]![version]}`)

  test('the list has those that are readable, and so has the count', async () => {
    assert.deepEqual(await titles(world.key, 'now-german'), ['Der Hafen', 'Port', 'Le port'])
    assert.deepEqual(await titles(german, 'now-german'), ['Der Hafen', 'Port'])
    assert.deepEqual(await titles(french, 'now-german'), ['Le port'])
    assert.equal((await get(world.key, 'now-german')).body.version_count, 3)
    assert.equal((await get(german, 'now-german')).body.version_count, 2)
  })

  test('pages have nothing in the places of what is hidden', async () => {
    const first = await get(german, 'now-german', '/versions?limit=1')
    const next = encodeURIComponent(first.body.next_cursor)
    const second = await get(german, 'now-german', `/versions?limit=1&cursor=${next}`)
    assert.deepEqual(
      [first, second].map(({ body }) => body.versions[0].title),
      ['Der Hafen', 'Port'],
    )
    assert.equal(second.body.next_cursor, undefined)
    assert.equal((await get(french, 'now-german', '/versions?limit=1')).body.next_cursor, undefined)
  })

  test('the text of a version that is hidden is not found; the current one may be the hidden one', async () => {
    assert.equal((await content(german, 'now-german', 2)).body.title, 'Der Hafen')
    assert.equal((await content(german, 'now-german', 1)).body.title, 'Port')
    await expectError(world.server, await content(german, 'now-german', 0), 404, 'version_not_found')
    const earlier = await content(french, 'now-german', 0)
    assert.deepEqual([earlier.body.title, earlier.body.is_current], ['Le port', false])
    await expectError(world.server, await content(french, 'now-german', 2), 404, 'document_not_found')
    await expectError(world.server, await get(french, 'now-german', '/content'), 404, 'document_not_found')
    await expectError(world.server, await get(french, 'now-german'), 404, 'document_not_found')
  })

  test('a document of which no version is readable is not found', async () => {
    const english = await world.application([{ datasets: [news], languages: ['en'] }])
    for (const rest of ['', '/versions', '/content', `/content?version_id=${versions['now-german']![0]}`]) {
      await expectError(world.server, await get(english, 'now-german', rest), 404, 'document_not_found')
    }
  })

  for (const mode of ['keyword', 'vector', 'hybrid']) {
    test(`search with earlier versions, ${mode}`, async () => {
      const found = async (key: string, more: object = {}) => {
        const asked = { mode, query: 'kelp', include_non_current: true, include_chunks: true, ...more }
        const { results, total_chunks } = await world.search(asked, '/v1/search', key)
        const shown = results.flatMap((hit) => (hit.matched_chunks ?? []).map(({ body }) => body)).sort()
        if (mode === 'keyword') assert.equal(total_chunks, shown.length)
        return { shown, languages: new Set(results.map(({ language }) => language)) }
      }
      const ofGermans = ['A port kelp.', 'Der neue Hafen kelp.', 'Die alte Möwe kelp.']
      const ofFrench = ['La mouette kelp.', 'Le vieux port kelp.']
      assert.deepEqual(await found(german), { shown: ofGermans, languages: new Set(['de']) })
      assert.deepEqual(await found(french), { shown: ofFrench, languages: new Set(['fr']) })
      assert.deepEqual((await found(world.key, { languages: ['fr'] })).shown, ofFrench)
      assert.deepEqual((await found(world.key)).shown, [...ofGermans, ...ofFrench].sort())
      assert.deepEqual((await found(german, { include_non_current: false })).shown, ['Der neue Hafen kelp.'])
    })
  }

  test('a language that is put right takes those along that have none of their own', async () => {
    await put('corrected', { title: 'First', body: 'First limpet.' })
    await put('corrected', { title: 'Second', body: 'Second limpet.', language: 'de' })
    assert.deepEqual(await titles(german, 'corrected'), ['Second', 'First'])
    await send(world.server, world.collector, [
      documentOf('corrected', { title: 'Second', body: 'Second limpet.', language: 'fr' }),
    ])
    await world.indexed()
    assert.deepEqual(await titles(french, 'corrected'), ['Second', 'First'])
    await expectError(world.server, await get(german, 'corrected', '/versions'), 404, 'document_not_found')
    const asked = { query: 'limpet', include_non_current: true, include_chunks: true }
    assert.equal((await world.search(asked, '/v1/search', french)).total_chunks, 2)
    assert.equal((await world.search(asked, '/v1/search', german)).total_chunks, 0)
  })
})
