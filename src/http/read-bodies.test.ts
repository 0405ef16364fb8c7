import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { Bodies } from './read-bodies.ts'

const megabyte = 1_048_576

test('a body is what came, whatever the pieces', async () => {
  const source = new PassThrough()
  const body = new Bodies(0).read(source, 100, 10_000)
  for (const piece of ['a', '', 'bc', 'd']) source.write(piece)
  source.end()
  assert.equal((await body).toString(), 'abcd')
})

test('one that is longer than it may be, does not come to its end, or breaks off, is refused', async () => {
  const bodies = new Bodies(0)
  const long = new PassThrough()
  const tooLong = bodies.read(long, 3, 10_000)
  long.end('abcd')
  await assert.rejects(tooLong, { code: 'payload_too_large' })
  await assert.rejects(bodies.read(new PassThrough(), 3, 1), { code: 'request_timeout' })
  const broken = new PassThrough()
  const cut = bodies.read(broken, 3, 10_000)
  broken.destroy(new Error('aborted'))
  await assert.rejects(cut, { code: 'client_closed_request' })
})

test('of large bodies so much is held together, whatever becomes of them; a small one is always taken', async () => {
  const bodies = new Bodies(4 * megabyte)
  const begin = (megabytes: number) => {
    const source = new PassThrough({ highWaterMark: 100 * megabyte })
    const body = bodies.read(source, 100 * megabyte, 60_000)
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
  // Whether they came to their end, were refused or broke off, they hold nothing any more.
  const gone = begin(5)
  gone.source.destroy(new Error('aborted'))
  await assert.rejects(gone.body)
  const last = begin(5)
  last.source.end()
  assert.equal((await last.body).length, 5 * megabyte)
})
