import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chooseMerge, joinedYoungest } from './merge-policy.ts'

const limits = { segmentChunks: 1000, memoryBytes: 1000, fanIn: 4, deletedMin: 10 }
const of = (liveChunks: number, deleted = 0, bytes = 1) => ({ chunks: liveChunks + deleted, liveChunks, bytes })

test('small segments wait until there are enough of them', () => {
  assert.deepEqual(chooseMerge([of(10), of(10), of(10)], limits), [])
  assert.equal(chooseMerge([of(10), of(10), of(10), of(10)], limits).length, 4)
})

test('large segments are left alone', () => {
  assert.deepEqual(
    chooseMerge(
      Array.from({ length: 9 }, () => of(600)),
      limits,
    ),
    [],
  )
})

test('a segment with a quarter of its chunks deleted is rewritten, alone if necessary', () => {
  assert.deepEqual(chooseMerge([of(700, 240)], limits), [of(700, 240)])
  assert.deepEqual(chooseMerge([of(700, 200)], limits), [])
  assert.deepEqual(chooseMerge([of(0, 3)], limits), [of(0, 3)])
})

test('a merge stays within its limits of chunks and bytes, except for a single segment that it cleans', () => {
  const segment = fc.record({ liveChunks: fc.nat(1000), deleted: fc.nat(300), bytes: fc.nat(500) })
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 20 }), (segments) => {
      const chosen = chooseMerge(
        segments.map(({ liveChunks, deleted, bytes }) => of(liveChunks, deleted, bytes)),
        limits,
      )
      if (chosen.length < 2) return
      assert.ok(chosen.reduce((sum, { liveChunks }) => sum + liveChunks, 0) <= limits.segmentChunks)
      assert.ok(chosen.reduce((sum, { bytes }) => sum + bytes, 0) <= limits.memoryBytes)
    }),
  )
})

test('an empty segment is not rewritten again and again', () => {
  assert.deepEqual(chooseMerge([of(0)], limits), [])
  assert.deepEqual(chooseMerge([of(0), of(700)], limits), [])
  assert.equal(chooseMerge([of(0), of(0), of(0), of(10)], limits).length, 4)
})

test('merging comes to an end', () => {
  let segments = Array.from({ length: 500 }, (_, i) => of(1 + (i % 37)))
  for (let merges = 0; ; merges++) {
    assert.ok(merges < 500)
    const chosen = chooseMerge(segments, limits)
    if (chosen.length === 0) break
    const live = chosen.reduce((sum, { liveChunks }) => sum + liveChunks, 0)
    segments = [...segments.filter((segment) => !chosen.includes(segment)), of(live)]
  }
  assert.ok(segments.length < 20)
})

test('new segments are joined three or more at a time, and not with much larger ones', () => {
  assert.equal(joinedYoungest([64, 64], 1000, 4096), 0)
  assert.equal(joinedYoungest([64, 64, 64], 1000, 4096), 3)
  assert.equal(joinedYoungest([192, 64, 64, 64], 1000, 4096), 4)
  assert.equal(joinedYoungest([500, 64, 64, 64], 1000, 4096), 3)
  assert.equal(joinedYoungest([500, 64, 64, 64], 150, 4096), 0)
  assert.equal(joinedYoungest([511, 511, 511], 65_536, 4096), 3)
  assert.equal(joinedYoungest([512, 512, 512], 65_536, 4096), 0, 'they are sealed soon')
})

test('batches of any size end up in few segments, and each chunk is written only a few times', () => {
  const batches = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(batches, (sizes) => {
      const segments: number[] = []
      let written = 0
      for (const size of sizes) {
        segments.push(size)
        for (
          let joined = joinedYoungest(segments, 65_536, 4096);
          joined > 0;
          joined = joinedYoungest(segments, 65_536, 4096)
        ) {
          const chunks = segments.splice(-joined).reduce((sum, one) => sum + one)
          segments.push(chunks)
          written += chunks
        }
        assert.ok(segments.length <= 13, `${segments}`)
      }
      const chunks = sizes.reduce((sum, one) => sum + one)
      assert.ok(written <= chunks * (2 + Math.log2(chunks)), `${written} of ${chunks}`)
    }),
  )
})
