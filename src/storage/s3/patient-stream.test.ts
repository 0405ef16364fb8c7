import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { suite, test } from 'node:test'
import { patient } from './patient-stream.ts'

const broken = (cause: unknown) => new Error(`broken: ${(cause as Error).message}`)

suite('a stream that is waited for only so long', () => {
  test('all bytes, in order', async () => {
    const source = new PassThrough()
    source.write('one ')
    source.end('two')
    assert.equal(Buffer.concat(await patient(source, 60_000, broken).toArray()).toString(), 'one two')
  })

  test('bytes that do not come, and a source that breaks, are errors; the source is closed', async () => {
    const silent = new PassThrough()
    silent.write('begun')
    await assert.rejects(patient(silent, 20, broken).toArray(), /broken: no more bytes came within 20 ms/)
    assert.ok(silent.destroyed)
    const failing = new PassThrough()
    failing.destroy(new Error('reset'))
    await assert.rejects(patient(failing, 60_000, broken).toArray(), /broken: reset/)
  })

  test('closed before anything was read, it closes its source', async () => {
    const source = new PassThrough()
    const stream = patient(source, 60_000, broken)
    stream.destroy()
    if (!source.destroyed) await once(source, 'close')
    assert.ok(source.destroyed)
  })
})
