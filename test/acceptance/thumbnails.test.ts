import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { documentsOf, feedPage, type Sent, sendOne, wholeFeed } from './content.ts'
import { type SearchWorld, sharedWorld } from './search-world.ts'

const dataset = 'thumbnails-news'
const documentOf = documentsOf(dataset)
const address = 'https://pictures.example/quay.jpg'

/** `thumbnail_url`: the address of a small picture, for readers with the permission `metadata`. */
describe('the picture of a document', () => {
  let world: SearchWorld
  /** The key of an application that reads texts, without further permissions. */
  let textsOnly: string
  let id: string

  before(async () => {
    world = await sharedWorld([dataset])
    textsOnly = await world.application([{ datasets: [dataset], fields: ['title', 'body'] }])
    id = (await put(documentOf('quay', { thumbnail_url: address }))).document_id!
    await put(documentOf('none'))
    await world.indexed()
  })

  const put = (document: Sent) => sendOne(world.server, world.collector, document)
  const read = async (key: string, path: string) => {
    const answer = await world.server.consumer(key, 'GET', path)
    assert.equal(answer.status, 200, answer.text)
    return answer
  }
  /** The field of the object as a list: of one value, or empty if the object lacks it. */
  const told = (object: Readonly<Record<string, unknown>>): unknown[] =>
    'thumbnail_url' in object ? [object.thumbnail_url] : []

  test('is in documents, null where there is none, and absent without the permission', async () => {
    assert.deepEqual(told((await read(world.key, `/v1/documents/${id}`)).body), [address])
    assert.deepEqual(told((await read(textsOnly, `/v1/documents/${id}`)).body), [])
    const { documents } = (await read(world.key, `/v1/documents/browse?dataset_id=${dataset}`)).body
    assert.deepEqual(documents.flatMap(({ document }: { document: Sent }) => told(document)).sort(), [address, null])
    const batch = await world.server.consumer(world.key, 'POST', '/v1/documents/batch-get', { document_ids: [id] })
    assert.deepEqual(batch.body.documents.flatMap(told), [address])
  })

  test('is in results, and cannot be named by a request without the permission', async () => {
    const asked = { query: 'quay', datasets: [dataset] }
    for (const [key, fields, expected] of [
      [world.key, undefined, [address]],
      [world.key, ['thumbnail_url'], [address]],
      [world.key, ['url'], []],
      [textsOnly, undefined, []],
    ] as const) {
      const body = fields === undefined ? asked : { ...asked, fields }
      const { results } = await world.search(body, '/v1/search', key)
      assert.equal(results.length, 1)
      assert.deepEqual(told(results[0]! as unknown as Sent), expected)
    }
    const refused = await world.raw({ ...asked, fields: ['thumbnail_url'] }, '/v1/search', textsOnly)
    assert.equal(refused.status, 403, refused.text)
  })

  test('is in exports, as lines and as Parquet', async () => {
    const path = `/v1/export?dataset_id=${dataset}`
    const lines = (await read(world.key, path)).text.trimEnd().split('\n')
    const documents = lines.flatMap((line) => JSON.parse(line).document ?? [])
    assert.deepEqual(documents.flatMap(told), [address, null])
    const headers = { authorization: `Bearer ${world.key}`, accept: 'application/vnd.apache.parquet' }
    const file = await (await fetch(new URL(path, world.server.address), { headers })).arrayBuffer()
    assert.deepEqual((await parquetReadObjects({ file, compressors })).flatMap(told), [address, null])
    for (const line of (await read(textsOnly, path)).text.trimEnd().split('\n')) {
      assert.deepEqual(told(JSON.parse(line).document ?? {}), [])
    }
  })

  test('makes an event when it changes, for readers with the permission', async () => {
    const observed_at = '2026-10-31T00:00:00Z'
    const sent = documentOf('changing', { thumbnail_url: address, observed_at })
    const { document_id } = await put(sent)
    const updates = { event_type: 'document.updated' }
    const cursorOf = async (key: string) => (await wholeFeed(world.server, key, updates)).cursor
    const cursors = new Map([
      [world.key, await cursorOf(world.key)],
      [textsOnly, await cursorOf(textsOnly)],
    ])
    assert.equal((await put(sent)).outcome, 'unchanged')
    assert.equal((await put({ ...sent, thumbnail_url: `${address}?2` })).outcome, 'updated')
    assert.equal((await put({ ...sent, thumbnail_url: null })).outcome, 'updated')
    const named = async (key: string) => {
      const { items } = await feedPage(world.server, key, { ...updates, cursor: cursors.get(key)! })
      return items.map((event) => [event.document_id, event.changed_fields])
    }
    const change = [document_id, ['thumbnail_url']]
    assert.deepEqual(await named(world.key), [change, change])
    assert.deepEqual(await named(textsOnly), [])
    assert.deepEqual(told((await read(world.key, `/v1/documents/${document_id}`)).body), [null])
  })

  test('is an http or https address of at most 2,048 characters', async () => {
    const longest = `https://p.example/${'x'.repeat(2030)}`
    for (const one of [longest, 'HTTP://p.example/a.png']) {
      assert.equal((await put(documentOf('long', { thumbnail_url: one }))).error, undefined, one)
    }
    const { error } = await put(documentOf('long', { thumbnail_url: `${longest}x` }))
    assert.deepEqual(error?.details, [{ path: 'thumbnail_url', message: 'must have at most 2048 characters' }])
    const message = 'must be an address that begins with http:// or https://, without spaces'
    for (const one of [
      'javascript:alert(1)',
      'data:image/png;base64,AA',
      'p.example/a.png',
      'https://',
      'https://p.example/a b',
      '',
    ]) {
      const refused = await put(documentOf('odd', { thumbnail_url: one }))
      assert.deepEqual(refused.error?.details, [{ path: 'thumbnail_url', message }], one)
    }
  })
})
