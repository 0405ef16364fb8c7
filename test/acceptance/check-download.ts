import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { AnalysisWorld } from './analysis-world.ts'

/** Checks downloads of a run's only artifact: whole, by ranges and with entity tags, wherever it is kept. */
export async function checkDownload(world: AnalysisWorld, runId: string): Promise<void> {
  const [artifact] = await world.artifacts(runId)
  const get = (headers: Record<string, string> = {}, method = 'GET') =>
    world.download(runId, artifact!.artifact_id, headers, method)
  const whole = await get()
  assert.equal(whole.status, 200)
  assert.equal(whole.headers.get('content-type'), 'application/vnd.apache.parquet')
  assert.equal(whole.headers.get('content-length'), String(artifact!.bytes))
  assert.equal(whole.headers.get('accept-ranges'), 'bytes')
  const tag = whole.headers.get('etag')!
  const bytes = Buffer.from(await whole.arrayBuffer())
  assert.equal(`sha256:${createHash('sha256').update(bytes).digest('hex')}`, artifact!.checksum)

  const size = bytes.length
  for (const [range, start, end] of [
    ['bytes=0-3', 0, 3],
    ['bytes=10-', 10, size - 1],
    ['bytes=-8', size - 8, size - 1],
    [`bytes=5-${size + 100}`, 5, size - 1],
    [`bytes=-${size + 100}`, 0, size - 1],
  ] as const) {
    const part = await get({ range })
    assert.equal(part.status, 206, range)
    assert.equal(part.headers.get('content-range'), `bytes ${start}-${end}/${size}`)
    assert.equal(part.headers.get('content-length'), String(end - start + 1))
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(start, end + 1), range)
  }
  for (const range of [`bytes=${size}-`, 'bytes=-0']) {
    const none = await get({ range })
    assert.equal(none.status, 416)
    assert.equal(none.headers.get('content-range'), `bytes */${size}`)
    assert.equal(((await none.json()) as { code: string }).code, 'range_not_satisfiable')
  }
  for (const range of ['bytes=3-1', 'items=0-1', 'bytes=0-1,4-5', 'bytes=-']) {
    assert.equal((await get({ range })).status, 200, range)
  }
  const unchanged = await get({ 'if-none-match': tag })
  assert.deepEqual([unchanged.status, (await unchanged.arrayBuffer()).byteLength], [304, 0])
  assert.equal((await get({ 'if-none-match': `"other", W/${tag}` })).status, 304)
  assert.equal((await get({ 'if-none-match': '"other"' })).status, 200)
  assert.equal((await get({ range: 'bytes=0-3', 'if-range': tag })).status, 206)
  assert.equal((await get({ range: 'bytes=0-3', 'if-range': '"other"' })).status, 200)
  const head = await get({}, 'HEAD')
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(size)])
}
