import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import * as zlib from 'node:zlib'
import { expectError } from '../acceptance/expect-error.ts'
import { HalfSent } from '../acceptance/half-sent.ts'
import { type Answer, noVectors, startServer, type TestServer } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'

let server: TestServer
let key: string
let collectorKey: string

before(async () => {
  server = await startServer({ env: noVectors })
  await server.makeDataset('news')
  ;({ key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] }))
  ;({ key: collectorKey } = await server.makeCollector())
})

const encodings: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: (text) => zlib.gzipSync(text),
  'x-gzip': (text) => zlib.gzipSync(text),
  GZIP: (text) => zlib.gzipSync(text),
  deflate: (text) => zlib.deflateSync(text),
  br: (text) => zlib.brotliCompressSync(text),
  zstd: (text) => zlib.zstdCompressSync(text),
  identity: (text) => Buffer.from(text),
}

const post = (path: string, credential: string, type: string, encoding: string, body: Uint8Array): Promise<Answer> =>
  server.call('POST', path, {
    headers: { authorization: `Bearer ${credential}`, 'content-type': type, 'content-encoding': encoding },
    body,
  })
const search = (encoding: string, body: Uint8Array) => post('/v1/search', key, 'application/json', encoding, body)
const lines = (encoding: string, body: Uint8Array) =>
  post('/collector/v1/documents', collectorKey, 'application/x-ndjson', encoding, body)
const document = (id: string, title = id) => ({ dataset_id: 'news', source_platform: 'rss', external_id: id, title })

describe('JSON', () => {
  test('is taken compressed as it is plain', async () => {
    for (const [name, compress] of Object.entries(encodings)) {
      assert.equal((await search(name, compress('{"query":"water"}'))).status, 200, name)
      const wrong = await search(name, compress('{"query":5}'))
      await expectError(server, wrong, 400, 'invalid_query')
      assert.match(wrong.body.message, /^query must/)
    }
  })

  test('that is larger than the limit when it is unpacked is 413, and a bomb is not unpacked', async () => {
    for (const [name, compress] of Object.entries(encodings)) {
      const large = compress(JSON.stringify({ query: 'x'.repeat(1_100_000) }))
      await expectError(server, await search(name, large), 413, 'payload_too_large')
    }
    const bomb = zlib.gzipSync(Buffer.alloc(200_000_000, ' '))
    assert.ok(bomb.length < 1_000_000)
    await expectError(server, await search('gzip', bomb), 413, 'payload_too_large')
  })

  test('that is refused costs its sender nothing but the answer: others are served beside many of them', async () => {
    // One gigabyte each, in pieces that were compressed separately.
    const piece = zlib.gzipSync(Buffer.alloc(100_000_000, ' '))
    const bomb = Buffer.concat(Array.from({ length: 10 }, () => piece))
    assert.ok(bomb.length < 1_048_576)
    const refused = Promise.all(Array.from({ length: 20 }, () => search('gzip', bomb)))
    const { key: other } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
    for (let i = 0; i < 50; i++) assert.equal((await server.consumer(other, 'GET', '/v1/changes')).status, 200)
    for (const answer of await refused) await expectError(server, answer, 413, 'payload_too_large')
    assert.equal((await search('gzip', zlib.gzipSync('{"query":"water"}'))).status, 200)
  })

  test('that is not what it is said to be is 400, an encoding that nobody knows 415', async () => {
    const packed = zlib.gzipSync('{"query":"water"}')
    for (const broken of [
      Buffer.from('{"query":"water"}'),
      packed.subarray(0, 15),
      Buffer.alloc(100),
      Buffer.of(0x1f),
    ]) {
      const answer = await search('gzip', broken)
      await expectError(server, answer, 400, 'invalid_query')
      assert.match(answer.body.message, /not valid gzip/)
    }
    for (const name of ['compress', 'gzip, gzip', 'gzip;q=1', 'constructor', '__proto__', '*']) {
      const answer = await search(name, packed)
      await expectError(server, answer, 415, 'unsupported_media_type')
      assert.match(answer.body.message, /gzip, deflate, br or zstd/)
    }
  })
})

describe('lines', () => {
  test('are taken compressed, also in pieces that were compressed one by one', async () => {
    for (const [name, compress] of Object.entries(encodings)) {
      const text = Array.from({ length: 1000 }, (_, i) => JSON.stringify(document(`${name}-${i}`))).join('\n')
      const { status, body } = await lines(name, compress(text))
      assert.equal(status, 200)
      assert.equal(body.results.length, 1000)
      assert.ok(body.results.every(({ outcome }: { outcome: string }) => outcome === 'created'))
    }
    const pieces = ['p1', 'p2', 'p3'].map((id) => zlib.gzipSync(`${JSON.stringify(document(id))}\n`))
    assert.equal((await lines('gzip', Buffer.concat(pieces))).body.results.length, 3)
  })

  test('that are broken from the start are 400; where they break off later, what was whole is kept and the rest is told', async () => {
    const answer = await lines('gzip', Buffer.from(JSON.stringify(document('plain'))))
    await expectError(server, answer, 400, 'invalid_request')
    const headers = 'Content-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n'
    const stream = HalfSent.post(server, '/collector/v1/documents', collectorKey, headers, '')
    const send = (bytes: Buffer): void => {
      stream.send(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]))
    }
    const gzip = zlib.createGzip()
    gzip.on('data', send)
    for (let i = 0; i < 3; i++) {
      gzip.write(`${JSON.stringify(document(`cut-${i}`))}\n`)
      gzip.flush()
      await until('the line is answered', async () => stream.received.includes(`{"index":${i},"document_id"`))
    }
    send(Buffer.from('garbage that is no gzip'))
    await until('the answer is whole', async () => stream.received.includes(']}'))
    assert.match(stream.received, /\{"index":3,"error":\{"code":"stream_ended","message":"the body is not valid gzip; /)
    stream.abandon()
  })

  test('that unpack to more than any text would are cut short, and that is told', async () => {
    const bomb = Buffer.alloc(100_000_000, '\n')
    bomb.write(`${JSON.stringify(document('before-the-bomb'))}\n`)
    // The stream is cut within this line, which gets no result.
    bomb.fill('x', 10_000_000)
    const { status, body } = await lines('zstd', zlib.zstdCompressSync(bomb))
    assert.equal(status, 200)
    assert.equal(body.results.length, 2)
    assert.equal(body.results[0].outcome, 'created')
    assert.equal(body.results[1].index, 1)
    assert.equal(body.results[1].error.code, 'stream_ended')
    assert.match(body.results[1].error.message, /compression ratio .* too high.*; nothing from this line on was read$/)
  })

  test('that are mostly the same text over and over are taken whole', async () => {
    const text = `${JSON.stringify(document('boilerplate', 'Terms of the shop'))}\n`
    const same = text.replace('}', `,"body":"${'All prices include the tax. '.repeat(1000)}"}`).repeat(700)
    const packed = zlib.gzipSync(same)
    assert.ok(same.length > 17_000_000 && same.length > 250 * packed.length, `${same.length / packed.length} to 1`)
    const { body } = await lines('gzip', packed)
    assert.equal(body.results.length, 700)
    assert.ok(body.results.every(({ outcome }: { outcome?: string }) => outcome !== undefined))
  })
})

describe('lines that are refused', () => {
  const bad = '{}\n'
  const good = (id: string) => `${JSON.stringify(document(id))}\n`

  test('end the stream when they are many and more than were taken, plain or compressed; what was taken is kept', async () => {
    for (const [name, compress] of Object.entries({ identity: encodings.identity!, gzip: encodings.gzip! })) {
      const { status, body } = await lines(name, compress(good(`first-${name}`) + bad.repeat(300_000)))
      assert.equal(status, 200)
      assert.equal(body.results[0].outcome, 'created')
      assert.ok(body.results.length > 10_000 && body.results.length < 13_000, `${body.results.length} results`)
      const { index, error } = body.results.at(-1)
      assert.equal(index, body.results.length - 1)
      assert.equal(error.code, 'stream_ended')
      assert.match(error.message, /^more than 10000 lines were refused, .*; nothing from this line on was read$/)
      const again = await lines(name, compress(good(`first-${name}`)))
      assert.equal(again.body.results[0].outcome, 'unchanged')
    }
  })

  test('end nothing where they are few, or fewer than the good ones', async () => {
    const few = await lines('identity', Buffer.from(bad.repeat(10_000) + good('after-few')))
    assert.equal(few.body.results.length, 10_001)
    assert.equal(few.body.results.at(-1).outcome, 'created')
    const many = Array.from({ length: 1200 }, (_, i) => good(`good-${i}`) + bad).join('')
    const { body } = await lines('gzip', zlib.gzipSync(good('one-more') + many))
    assert.equal(body.results.length, 2401)
  })
})

test('nothing of all this was an error of ours', () => {
  assert.deepEqual(
    server.logs.filter((line) => Number(line.level) >= 50),
    [],
  )
})
