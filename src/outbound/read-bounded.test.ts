import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { readBounded, TooLarge } from './read-bounded.ts'

test('returns all bytes, or throws once they exceed the limit, whatever length was announced', async () => {
  const bytes = fc.uint8Array({ maxLength: 20 })
  const announced = fc.constantFrom(null, undefined, '', '0', '7', '40', 'many')
  await fc.assert(
    fc.asyncProperty(fc.array(bytes), fc.nat(60), announced, async (parts, bytesMax, length) => {
      const all = Buffer.concat(parts)
      const read = readBounded(Readable.from(parts), bytesMax, length)
      const announcedTooMany = Number(length) > bytesMax && parts.length > 0
      if (all.length > bytesMax || announcedTooMany) await assert.rejects(read, TooLarge)
      else assert.deepEqual(await read, all)
    }),
  )
})

test('cancels the source and does not read the rest', async () => {
  let pulled = 0
  let cancelled = false
  const endless = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        pulled++
        controller.enqueue(new Uint8Array(10))
      },
      cancel: () => {
        cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  await assert.rejects(readBounded(endless, 25, null), { name: 'TooLarge', message: 'larger than 25 bytes' })
  assert.deepEqual([pulled, cancelled], [3, true])
})

test('a missing body is read as empty', async () => {
  assert.equal((await readBounded(null, 0, null)).length, 0)
})
