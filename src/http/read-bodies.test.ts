import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { decodeBody } from './decode-body.ts'
import { Bodies } from './read-bodies.ts'

const megabyte = 1_048_576

test('a body is read whole, however it was split', async () => {
  const source = new PassThrough()
  const body = new Bodies(0).read(source, 100, 10_000, source)
  for (const piece of ['a', '', 'bc', 'd']) source.write(piece)
  source.end()
  assert.equal((await body).toString(), 'abcd')
})

test('a body that is too long, does not end, or is cut off is refused', async () => {
  const bodies = new Bodies(0)
  const long = new PassThrough()
  const tooLong = bodies.read(long, 3, 10_000, long)
  long.end('abcd')
  await assert.rejects(tooLong, { code: 'payload_too_large' })
  const still = new PassThrough()
  await assert.rejects(bodies.read(still, 3, 1, still), { code: 'request_timeout' })
  const broken = new PassThrough()
  const cut = bodies.read(broken, 3, 10_000, broken)
  broken.destroy(new Error('aborted'))
  await assert.rejects(cut, { code: 'client_closed_request' })
})

test('large bodies share a limit on memory, however they end; a small one is always accepted', async () => {
  const bodies = new Bodies(4 * megabyte)
  const begin = (megabytes: number) => {
    const source = new PassThrough({ highWaterMark: 100 * megabyte })
    const body = bodies.read(source, 100 * megabyte, 60_000, source)
    body.catch(() => {})
    source.write(Buffer.alloc(megabytes * megabyte))
    return { source, body }
  }
  const held = begin(4)
  await new Promise(setImmediate)
  const refused = begin(4)
  await assert.rejects(refused.body, { code: 'overloaded' })
  const small = begin(1)
  small.source.end()
  assert.equal((await small.body).length, megabyte)
  held.source.end()
  assert.equal((await held.body).length, 4 * megabyte)
  // Bodies that ended, were refused or cut off hold no memory any more.
  const gone = begin(5)
  gone.source.destroy(new Error('aborted'))
  await assert.rejects(gone.body)
  const last = begin(5)
  last.source.end()
  assert.equal((await last.body).length, 5 * megabyte)
})

test('a refused compressed body is not decompressed any further, and the rest of its input is read', async () => {
  const packed = gzipSync(Buffer.alloc(30 * megabyte, ' '))
  for (const limit of [1000, 2 * megabyte]) {
    const payload = new PassThrough() as unknown as IncomingMessage & PassThrough
    const request = { headers: { 'content-encoding': 'gzip' }, routeOptions: { config: {} } }
    const source = decodeBody(request as unknown as FastifyRequest, payload)
    let decompressed = 0
    source.on('data', (chunk: Buffer) => {
      decompressed += chunk.length
    })
    const [read, left] = [once(payload, 'end'), once(source, 'close')]
    const body = new Bodies(0).read(source, limit, 60_000, payload)
    // In pieces, as a connection delivers them.
    for (let at = 0; at < packed.length; at += 16_384) payload.write(packed.subarray(at, at + 16_384))
    payload.end()
    await assert.rejects(body, { code: limit < megabyte ? 'payload_too_large' : 'overloaded' })
    await Promise.all([read, left])
    assert.ok(decompressed < 2 * megabyte, `${decompressed} bytes`)
  }
})
