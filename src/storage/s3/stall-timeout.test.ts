import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { suite, test } from 'node:test'
import { withStallTimeout } from './stall-timeout.ts'

const broken = (cause: unknown) => new Error(`broken: ${(cause as Error).message}`)

suite('a stream with a stall timeout', () => {
  test('passes on all bytes, in order', async () => {
    const source = new PassThrough()
    source.write('one ')
    source.end('two')
    assert.equal(Buffer.concat(await withStallTimeout(source, 60_000, broken).toArray()).toString(), 'one two')
  })

  test('fails and closes the source if bytes do not come or the source fails', async () => {
    const silent = new PassThrough()
    silent.write('started')
    await assert.rejects(withStallTimeout(silent, 20, broken).toArray(), /broken: no more bytes came within 20 ms/)
    assert.ok(silent.destroyed)
    const failing = new PassThrough()
    failing.destroy(new Error('reset'))
    await assert.rejects(withStallTimeout(failing, 60_000, broken).toArray(), /broken: reset/)
  })

  test('closes its source if it is closed before anything was read', async () => {
    const source = new PassThrough()
    const stream = withStallTimeout(source, 60_000, broken)
    stream.destroy()
    if (!source.destroyed) await once(source, 'close')
    assert.ok(source.destroyed)
  })
})
