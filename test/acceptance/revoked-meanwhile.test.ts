import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, path, type Result } from './content.ts'
import { HalfSent } from './half-sent.ts'
import { items, type LiveWorld, startLiveWorld } from './live-world.ts'

/** A credential that ends during a request: work that is not done by then is not done. */
describe('a key that ends while a request is under way', () => {
  let world: LiveWorld

  after(() => world.server.stop())
  before(async () => {
    world = await startLiveWorld()
  })

  const ends: Readonly<Record<string, (keyId: string) => Promise<unknown>>> = {
    revoked: (keyId) => world.server.mustAdmin('POST', `/admin/v1/keys/${keyId}/revoke`),
    'rotated without grace': (keyId) =>
      world.server.mustAdmin('POST', `/admin/v1/keys/${keyId}/rotate`, { grace_seconds: 0 }),
  }

  /** Sends one line, ends the key, and sends more lines. Returns the results. */
  async function resultsOf(
    to: string,
    { key, keyId }: { key: string; keyId: string },
    lines: readonly object[],
    end: (keyId: string) => Promise<unknown>,
  ): Promise<Result[]> {
    const headers = 'Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n'
    const stream = HalfSent.post(world.server, to, key, headers, '')
    const send = (some: readonly object[]): void => {
      const text = some.map((one) => `${JSON.stringify(one)}\n`).join('')
      stream.send(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
    }
    send(lines.slice(0, 1))
    await until('the first line is answered', async () => stream.received.includes('"outcome":"created"'))
    await end(keyId)
    send(lines.slice(1))
    await until('the answer is whole', async () => stream.received.includes(']}'))
    stream.abandon()
    const chunks = stream.received.slice(stream.received.indexOf('\r\n\r\n') + 4)
    return JSON.parse(chunks.replace(/(^|\r\n)[0-9a-f]+\r\n/g, '').replace(/\r\n/g, '')).results
  }

  const expected = ['0 created', '1 unauthorized']
  const inShort = (results: readonly Result[]): string[] =>
    results.map(({ index, outcome, error }) => `${index} ${outcome ?? error!.code}`)

  for (const [how, end] of Object.entries(ends)) {
    test(`${how}: nothing more of its stream is stored, and the stream ends with that`, async () => {
      const collector = await world.server.makeCollector()
      const documents = Array.from({ length: 600 }, (_, i) => documentOf(`${how}-${i}`))
      const results = await resultsOf(path, collector, documents, end)
      assert.deepEqual(inShort(results), expected)
      assert.match(results[1]!.error!.message, /valid collector key; nothing from this line on was stored$/)
      const sent = await world.server.collector(world.collector, 'POST', path, { documents: documents.slice(0, 500) })
      assert.deepEqual(
        sent.body.results.map(({ outcome }: Result) => outcome),
        ['unchanged', ...Array(499).fill('created')],
      )
    })

    test(`${how}: nothing more of a task's stream is stored either`, async () => {
      const collector = await world.server.makeCollector()
      await world.lease({}, collector.key)
      const live = await world.start({ max_items_per_platform: 50 })
      const [task] = await world.tasks({}, collector.key)
      const to = `/collector/v1/tasks/${task.task_id}/documents`
      assert.deepEqual(inShort(await resultsOf(to, collector, items(20, `task ${how}`), end)), expected)
      assert.equal((await world.status(live.id)).runs[0].items, 1)
    })
  }

  test('revoked: a read of the feed that waits is answered 401 and not with a page', async () => {
    const { server } = world
    const { key, keyId } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
    let cursor = ''
    for (let page = null; page === null || page.items.length > 0; cursor = page.next_cursor) {
      page = (await server.consumer(key, 'GET', `/v1/changes?limit=200${cursor && `&cursor=${cursor}`}`)).body
    }
    const requestsInFlight = async (): Promise<string> =>
      /^tidemark_requests_in_flight (\d+)$/m.exec((await server.admin('GET', '/metrics')).text)![1]!
    await until('no request is left', async () => (await requestsInFlight()) === '0')
    const poll = server.consumer(key, 'GET', `/v1/changes?wait=30&cursor=${cursor}`)
    await until('the read has been let in', async () => (await requestsInFlight()) === '1')
    await ends.revoked!(keyId)
    await server.collector(world.collector, 'POST', path, { documents: [documentOf('too-late')] })
    const { status, body } = await poll
    assert.equal(status, 401, JSON.stringify(body))
    assert.equal(body.code, 'unauthorized')
  })
})
