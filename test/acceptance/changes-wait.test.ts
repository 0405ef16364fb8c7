import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readScrape } from '../support/scrape.ts'
import { until } from '../support/until.ts'
import { documentOf, type FeedPage, feedAnswer, feedPage, send, wholeFeed } from './content.ts'
import { startServer, type TestServer } from './harness.ts'

/** Long polling: a request is held at the end of the feed until an event, the timeout or the end of the server. */
describe('waiting for changes', () => {
  let server: TestServer
  let collector: string
  let reader: string

  after(() => server.stop())
  before(async () => {
    server = await startServer({ env: { TIDEMARK_REQUESTS_IN_FLIGHT_MAX: '3' } })
    await server.makeDataset('news')
    await server.makeDataset('blogs')
    collector = (await server.makeCollector()).key
    reader = (await server.makeApplication({ entitlements: [{ datasets: ['news', 'blogs'] }] })).key
    await send(server, collector, [documentOf('first')])
  })

  /** Long enough for a request to reach the point where it only waits. */
  const settle = () => new Promise((resolve) => setTimeout(resolve, 150))

  test('an empty page is held until an event, and comes at once with it', async () => {
    const { cursor } = await wholeFeed(server, reader)
    const startedMs = performance.now()
    const waiting = feedPage(server, reader, { cursor, wait: 30 })
    await settle()
    const [result] = await send(server, collector, [documentOf('woken')])
    const page = await waiting
    assert.deepEqual(
      page.items.map((event) => event.document_id),
      [result!.document_id],
    )
    assert.ok(performance.now() - startedMs > 140)
    // Woken by the event, not by the timeout. Benchmarks measure how soon.
    assert.ok(performance.now() - startedMs < 29_000)
  })

  test('entitlements that change during the wait decide what it is answered with', async () => {
    const english = { entitlements: [{ datasets: ['news'], languages: ['en'] }] }
    const { key, applicationId } = await server.makeApplication(english)
    const { cursor } = await wholeFeed(server, key)
    const waiting = feedPage(server, key, { cursor, wait: 30 })
    await settle()
    await server.mustAdmin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, {
      entitlements: [{ datasets: ['news'], languages: ['de'] }],
    })
    const [, german] = await send(server, collector, [
      documentOf('no-longer-open', { language: 'en' }),
      documentOf('open-by-now', { language: 'de' }),
    ])
    assert.deepEqual(
      (await waiting).items.map((event) => event.document_id),
      [german!.document_id],
    )
  })

  test('a page with events is not held', async () => {
    const startedMs = performance.now()
    assert.ok((await feedPage(server, reader, { wait: 30 })).items.length > 0)
    assert.ok(performance.now() - startedMs < 29_000)
  })

  test('events outside the filter do not end the wait; the time does, with a cursor beyond them', async () => {
    const filter = { dataset_id: 'blogs' }
    const { cursor } = await wholeFeed(server, reader, filter)
    const startedMs = performance.now()
    const waiting = feedPage(server, reader, { ...filter, cursor, wait: 1.5 })
    await settle()
    await send(server, collector, [documentOf('other-dataset')])
    const page = await waiting
    assert.deepEqual(page.items, [])
    assert.ok(performance.now() - startedMs >= 1490)
    assert.deepEqual((await feedPage(server, reader, { ...filter, cursor: page.next_cursor })).items, [])
  })

  test('the time that a page is held is none that reads take, also where the client leaves', async () => {
    const { cursor } = await wholeFeed(server, reader)
    const reads = async () => {
      const { samples } = readScrape((await server.admin('GET', '/metrics')).text)
      const sumOf = (name: string) =>
        [...samples].reduce(
          (sum, [series, value]) =>
            series.startsWith(`tidemark_http_request_seconds_${name}{`) && series.includes('"changes.read"')
              ? sum + value
              : sum,
          0,
        )
      return { count: sumOf('count'), seconds: sumOf('sum') }
    }
    const before = await reads()
    const startedMs = performance.now()
    assert.deepEqual((await feedPage(server, reader, { cursor, wait: 2 })).items, [])
    const controller = new AbortController()
    const gone = fetch(`${server.address}/v1/changes?cursor=${cursor}&wait=30`, {
      headers: { authorization: `Bearer ${reader}` },
      signal: controller.signal,
    })
    await new Promise((resolve) => setTimeout(resolve, 2000))
    controller.abort()
    await assert.rejects(gone)
    const tookSeconds = (performance.now() - startedMs) / 1000
    assert.ok(tookSeconds >= 3.9)
    await until('both are counted', async () => (await reads()).count >= before.count + 2)
    const measured = (await reads()).seconds - before.seconds
    assert.ok(measured < tookSeconds - 2.5, `${measured} s of ${tookSeconds} s`)
  })

  /** Like a client that finds the service busy: here only three requests run at once, on any machine. */
  async function patientPage(parameters: Readonly<Record<string, string | number>>): Promise<FeedPage> {
    for (;;) {
      const answer = await feedAnswer(server, reader, parameters)
      if (answer.status !== 503) {
        assert.equal(answer.status, 200, answer.text)
        return answer.body
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  test('many that wait hold no permit', async () => {
    const { cursor } = await wholeFeed(server, reader)
    const waiting: Promise<FeedPage>[] = []
    for (let i = 0; i < 12; i++) {
      waiting.push(patientPage({ cursor, wait: 20 }))
      // One after the other: three requests may run at once, and any number may wait.
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    await settle()
    await send(server, collector, [documentOf('for-all')])
    for (const page of await Promise.all(waiting)) assert.equal(page.items.length, 1)
  })

  test('one that goes away while it waits leaves nothing behind', async () => {
    const { cursor } = await wholeFeed(server, reader)
    for (let i = 0; i < 10; i++) {
      const controller = new AbortController()
      const gone = fetch(new URL(`/v1/changes?wait=30&cursor=${cursor}`, server.address), {
        headers: { authorization: `Bearer ${reader}` },
        signal: controller.signal,
      })
      await new Promise((resolve) => setTimeout(resolve, 30))
      controller.abort()
      await assert.rejects(gone)
    }
    assert.deepEqual((await patientPage({ cursor })).items, [])
  })

  /** Another process on the same data: the command line writes beside the server. */
  const importLines = (names: readonly string[]) =>
    server.tidemark(['import', '-'], { input: names.map((name) => `${JSON.stringify(documentOf(name))}\n`).join('') })

  test('what another process writes is seen by a reader that waits here', async () => {
    for (const round of [1, 2]) {
      const { cursor } = await wholeFeed(server, reader)
      const waiting = feedPage(server, reader, { cursor, wait: 30 })
      const imported = await importLines([`from-another-${round}`])
      assert.equal(imported.code, 0, imported.stderr)
      const startedMs = performance.now()
      const page = await waiting
      assert.equal(page.items.length, 1)
      assert.ok(performance.now() - startedMs < 29_000)
    }
  })

  test('two processes write at once: one sequence, nothing lost', async () => {
    const { cursor } = await wholeFeed(server, reader)
    const names = (from: string) => Array.from({ length: 1500 }, (_, i) => `${from}-${i}`)
    const imported = importLines(names('import'))
    let sent = 0
    let ended = false
    void imported.then(() => {
      ended = true
    })
    while (!ended) sent += (await send(server, collector, [documentOf(`send-${sent}`)])).length
    assert.equal((await imported).code, 0, (await imported).stderr)
    const { events } = await wholeFeed(server, reader, { cursor })
    assert.equal(events.length, 1500 + sent)
    assert.equal(new Set(events.map((event) => event.document_id)).size, 1500 + sent)
    events.forEach((event, i) => {
      assert.ok(i === 0 || event.sequence > events[i - 1]!.sequence)
    })
  })

  test('an orderly end answers those that wait', async () => {
    const { cursor } = await wholeFeed(server, reader)
    const waiting = feedPage(server, reader, { cursor, wait: 30 })
    await settle()
    const startedMs = performance.now()
    const code = server.stop()
    const page = await waiting
    assert.deepEqual(page.items, [])
    assert.equal(await code, 0)
    assert.ok(performance.now() - startedMs < 10_000)
    await server.start()
    assert.deepEqual((await feedPage(server, reader, { cursor: page.next_cursor })).items, [])
  })
})
