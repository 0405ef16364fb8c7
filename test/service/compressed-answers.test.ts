import assert from 'node:assert/strict'
import { get, type IncomingHttpHeaders } from 'node:http'
import { before, test } from 'node:test'
import * as zlib from 'node:zlib'
import { adminToken, sharedServer, type TestServer } from '../acceptance/harness.ts'

let server: TestServer

before(async () => {
  server = await sharedServer()
})

interface Bare {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** The answer as sent: fetch would decompress it and hide its headers. */
const bare = (path: string, headers: Readonly<Record<string, string>>, method = 'GET'): Promise<Bare> =>
  new Promise((resolve, reject) => {
    const request = get(new URL(path, server.address), { headers, method, agent: false }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part) => parts.push(part))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, bytes: Buffer.concat(parts) }),
      )
    })
    request.on('error', reject)
  })

const unpacked: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: zlib.gunzipSync,
  br: zlib.brotliDecompressSync,
  zstd: zlib.zstdDecompressSync,
}

test('JSON above 1 KB is compressed as the client takes it, and says so', async () => {
  for (let i = 0; i < 10; i++) await server.makeDataset(`dataset-${i}`)
  const authorization = `Bearer ${adminToken}`
  const plain = await bare('/admin/v1/datasets', { authorization })
  assert.equal(plain.headers['content-encoding'], undefined)
  assert.equal(plain.headers.vary, 'Accept-Encoding')
  assert.ok(plain.bytes.length > 1024)
  for (const [encoding, unpack] of Object.entries(unpacked)) {
    const answer = await bare('/admin/v1/datasets', { authorization, 'accept-encoding': `deflate, ${encoding}` })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-encoding'], encoding)
    assert.equal(answer.headers.vary, 'Accept-Encoding')
    assert.equal(answer.headers['content-length'], String(answer.bytes.length))
    assert.ok(answer.bytes.length < plain.bytes.length / 2)
    assert.deepEqual(unpack(answer.bytes), plain.bytes)
    const head = await bare('/admin/v1/datasets', { authorization, 'accept-encoding': encoding }, 'HEAD')
    assert.deepEqual([head.status, head.bytes.length], [200, 0])
    assert.equal(head.headers['content-encoding'], encoding)
  }
})

test('what is small, an error, or no JSON goes out as it is', async () => {
  const headers = { authorization: `Bearer ${adminToken}`, 'accept-encoding': 'gzip, br, zstd' }
  for (const path of ['/healthz', '/nowhere', '/metrics']) {
    assert.equal((await bare(path, headers)).headers['content-encoding'], undefined, path)
  }
})

test('the description has a tag that holds in every encoding, and may be kept', async () => {
  const plain = await bare('/openapi.json', {})
  const tag = plain.headers.etag!
  assert.match(tag, /^W\/"[\w-]{43}"$/)
  assert.match(plain.headers['cache-control']!, /^public, max-age=\d+$/)
  for (const encoding of Object.keys(unpacked)) {
    const answer = await bare('/openapi.json', { 'accept-encoding': encoding })
    assert.equal(answer.headers.etag, tag)
    assert.deepEqual(unpacked[encoding]!(answer.bytes), plain.bytes)
    const again = await bare('/openapi.json', { 'accept-encoding': encoding, 'if-none-match': tag })
    assert.deepEqual([again.status, again.bytes.length, again.headers.etag], [304, 0, tag])
  }
  assert.equal((await bare('/openapi.json', { 'if-none-match': '"other"' })).status, 200)
})
