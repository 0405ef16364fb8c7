import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { before, describe, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, eventsAfter, OpenRequest, path, type Result, sendLines, wholeFeed } from './content.ts'
import { noVectors, startServer, type TestServer } from './harness.ts'

/** Streams of lines: in order, with bounded memory, and with exact results when they break. */
describe('a stream of lines', () => {
  let server: TestServer
  let collector: string
  let reader: string

  before(async () => {
    server = await startServer({ env: noVectors })
    await server.makeDataset('news')
    collector = (await server.makeCollector()).key
    reader = (await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })).key
  })

  const line = (externalId: string, fields: Record<string, unknown> = {}): string =>
    `${JSON.stringify(documentOf(externalId, fields))}\n`
  const lines = (name: string, count: number, from = 0): string =>
    Array.from({ length: count }, (_, i) => line(`${name}-${from + i}`)).join('')

  async function results(text: string | Uint8Array): Promise<Result[]> {
    const answer = await sendLines(server, collector, text)
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    return answer.body.results
  }

  /** External ids of the documents that the feed reports after a cursor. */
  async function storedAfter(cursor: string): Promise<string[]> {
    const ids: string[] = []
    for (let from = cursor; ; ) {
      const page = await server.consumer(reader, 'GET', `/v1/changes?limit=200&cursor=${from}`)
      if (page.body.items.length === 0) return ids
      from = page.body.next_cursor
      const document_ids = page.body.items.map((event: { document_id: string }) => event.document_id)
      const { body } = await server.consumer(reader, 'POST', '/v1/documents/batch-get', { document_ids })
      assert.deepEqual(body.missing, [])
      for (const { external_id } of body.documents) ids.push(external_id)
    }
  }

  test('is answered line by line, bad ones alone', async () => {
    const answered = await results(
      `${line('nd-1')}not json\n${line('nd-2', { score: 'x' })}${line('nd-3', { dataset_id: 'nowhere' })}[1]\n${line('nd-1')}`,
    )
    assert.deepEqual(
      answered.map(({ index, outcome, error }) => `${index} ${outcome ?? error!.code}`),
      [
        '0 created',
        '1 invalid_document',
        '2 invalid_document',
        '3 unknown_dataset',
        '4 invalid_document',
        '5 unchanged',
      ],
    )
    assert.equal(answered[2]!.error!.details![0]!.path, 'score')
  })

  test('empty lines, CRLF, spaces, a byte order mark and a last line without a break are fine', async () => {
    const [first, second, third] = [line('ws-1'), line('ws-2'), line('ws-3')].map((one) => one.trim())
    const answered = await results(`\ufeff\n\r\n${first}\r\n   \n\ufeff${second}\t \n\n\n  ${third}`)
    assert.deepEqual(
      answered.map(({ index, outcome }) => `${index} ${outcome}`),
      ['0 created', '1 created', '2 created'],
    )
    assert.deepEqual(await results(''), [])
    assert.deepEqual(await results('\n\n'), [])
  })

  test('a line that is not UTF-8 is refused alone', async () => {
    const bytes = Buffer.from(line('latin-1', { title: 'caf\u00e9' }), 'latin1')
    const answered = await results(Buffer.concat([Buffer.from(line('utf8-1')), bytes, Buffer.from(line('utf8-2'))]))
    assert.deepEqual(
      answered.map(({ outcome, error }) => outcome ?? error!.message),
      ['created', 'the line is not valid UTF-8', 'created'],
    )
  })

  test('NUL, half pairs, deep nesting and __proto__ in a line fail or pass alone', async () => {
    const nested = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    const start = JSON.stringify(documentOf('odd-line')).slice(0, -1)
    const answered = await results(
      [
        `${start},"extra_payload":${nested}}`,
        `${start},"__proto__":{}}`,
        `${start},"other":${nested}}`,
        nested,
        `${'['.repeat(100_000)}`,
        `${start},"tags":["\\ud800","\\ud801"]}`,
        `${JSON.stringify(documentOf('odd-\ud800'))}`,
        `${start},"url":"\\u0000\\ud800"}`,
        line('odd-after').trim(),
      ].join('\n'),
    )
    assert.deepEqual(
      answered.map(({ outcome, error }) => outcome ?? error!.code),
      [...Array(7).fill('invalid_document'), 'created', 'created'],
    )
  })

  test('a line over the limit is refused alone, whatever its length', async () => {
    const request = new OpenRequest(server, collector)
    await request.write(line('long-1'))
    await request.write('{"body":"')
    const megabyte = 'x'.repeat(1024 * 1024)
    for (let i = 0; i < 40; i++) await request.write(megabyte)
    await request.write(`"}\n${line('long-2')}`)
    request.end()
    await request.ended
    assert.deepEqual(
      request.parsed.map(({ outcome, error }) => outcome ?? error!.message),
      ['created', 'the line is longer than 16777216 bytes', 'created'],
    )
  })

  test('a slow sender gets results while the request is open', async () => {
    const request = new OpenRequest(server, collector)
    for (let i = 0; i < 3; i++) {
      await request.write(line(`slow-${i}`))
      await request.results(i + 1)
      // Stored when it is answered, although the request is still open.
      const [id] = /doc_[0-9a-z]+/.exec(request.text.slice(request.text.lastIndexOf('"index"')))!
      assert.equal((await server.consumer(reader, 'GET', `/v1/documents/${id}`)).status, 200)
    }
    assert.equal(request.status, 200)
    request.end()
    await request.ended
    assert.equal(request.parsed.length, 3)
  })

  test('what ends in the middle of a line: the complete lines are stored and reported, the rest is not', async () => {
    const { cursor } = await wholeFeed(server, reader)
    const request = new OpenRequest(server, collector)
    await request.write(lines('cut', 3))
    await request.write(line('cut-3').slice(0, 40))
    request.end()
    await request.ended
    assert.deepEqual(
      request.parsed.map(({ outcome, error }) => outcome ?? error!.message),
      ['created', 'created', 'created', 'the line is not valid JSON: it seems to have been cut off'],
    )
    assert.deepEqual(await storedAfter(cursor), ['cut-0', 'cut-1', 'cut-2'])
  })

  test('a connection that is broken off: complete lines are stored, the cut one is not', async () => {
    const { cursor } = await wholeFeed(server, reader)
    const request = new OpenRequest(server, collector)
    await request.write(lines('broken', 700))
    await request.results(500)
    await request.write(lines('broken', 300, 700) + line('broken-1000').slice(0, 30))
    await request.results(1000)
    await request.write(line('broken-1000').slice(30, 60))
    request.abort()
    await until('every complete line', async () => (await wholeFeed(server, reader, { cursor })).events.length >= 1000)
    // The permit and the lines are released: the next request succeeds, and the cut line has left nothing.
    assert.equal((await results(line('after-broken')))[0]!.outcome, 'created')
    const stored = await storedAfter(cursor)
    assert.deepEqual(stored, [...Array.from({ length: 1000 }, (_, i) => `broken-${i}`), 'after-broken'])
  })

  test('a sender that closes its side before the announced end: complete lines are stored', async () => {
    const { cursor } = await wholeFeed(server, reader)
    const { hostname, port } = new URL(server.address)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${collector}\r\ncontent-type: application/x-ndjson\r\ncontent-length: 1000000\r\n\r\n${line('half-closed-0')}`,
    )
    const [first] = await once(socket, 'data')
    assert.match(String(first), /^HTTP\/1.1 200 /)
    socket.end(`${lines('half-closed', 50, 1)}{"dataset_id":"news","source_`)
    socket.resume()
    await once(socket, 'close')
    await until('the complete lines', async () => (await eventsAfter(server, reader, cursor)).length >= 51)
    assert.deepEqual(
      await storedAfter(cursor),
      Array.from({ length: 51 }, (_, i) => `half-closed-${i}`),
    )
  })

  test('a body larger than any batch may be streamed with its length announced', async () => {
    const document = line('announced', { body: 'y'.repeat(3_000_000) })
    const answered = await results(document.repeat(24))
    assert.equal(answered.length, 24)
    assert.equal(answered.filter((result) => result.outcome === 'unchanged').length, 23)
  })

  test('a collector that is bound to datasets is held to them line by line', async () => {
    const { key } = await server.makeCollector({ datasets: ['elsewhere'] })
    const answer = await sendLines(server, key, line('bound'))
    assert.equal(answer.body.results[0].error.code, 'dataset_forbidden')
  })

  // Last, because earlier tests read the feed from its start.
  test('20,000 lines, read while they are sent', async () => {
    const { cursor } = await wholeFeed(server, reader, { event_type: 'document.created' })
    const request = new OpenRequest(server, collector)
    for (let i = 0; i < 20; i++) await request.write(lines('both-ways', 1000, i * 1000))
    request.end()
    await request.ended
    const answered = request.parsed
    assert.deepEqual(
      answered.map((result) => result.index),
      Array.from({ length: 20_000 }, (_, i) => i),
    )
    assert.ok(answered.every((result) => result.outcome === 'created'))
    const { events } = await wholeFeed(server, reader, { event_type: 'document.created', cursor })
    assert.deepEqual(
      events.map((event) => event.document_id),
      answered.map((result) => result.document_id),
    )
  })

  test('20,000 lines, read only after everything is sent', async () => {
    let sent: () => void = () => {}
    const request = new OpenRequest(server, collector, new Promise<void>((resolve) => (sent = resolve)))
    for (let i = 0; i < 20; i++) await request.write(lines('one-way', 1000, i * 1000))
    request.end()
    sent()
    await request.ended
    assert.equal(request.parsed.length, 20_000)
    assert.ok(request.parsed.every((result) => result.outcome === 'created'))
  })
})
