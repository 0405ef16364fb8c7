import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chooseMerge, joinedYoungest } from './merge-policy.ts'

const limits = { segmentChunks: 1000, memoryBytes: 1000, fanIn: 4, deletedLeast: 10 }
const of = (aliveChunks: number, dead = 0, bytes = 1) => ({ chunks: aliveChunks + dead, aliveChunks, bytes })

test('small segments wait until enough of them are there', () => {
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

test('a segment with a quarter dead is written again, alone if need be', () => {
  assert.deepEqual(chooseMerge([of(700, 240)], limits), [of(700, 240)])
  assert.deepEqual(chooseMerge([of(700, 200)], limits), [])
  assert.deepEqual(chooseMerge([of(0, 3)], limits), [of(0, 3)])
})

test('a merge never takes more chunks or bytes than it may, beyond the one segment it cleans', () => {
  const segment = fc.record({ aliveChunks: fc.nat(1000), dead: fc.nat(300), bytes: fc.nat(500) })
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 20 }), (segments) => {
      const chosen = chooseMerge(
        segments.map(({ aliveChunks, dead, bytes }) => of(aliveChunks, dead, bytes)),
        limits,
      )
      if (chosen.length < 2) return
      assert.ok(chosen.reduce((sum, { aliveChunks }) => sum + aliveChunks, 0) <= limits.segmentChunks)
      assert.ok(chosen.reduce((sum, { bytes }) => sum + bytes, 0) <= limits.memoryBytes)
    }),
  )
})

test('a segment that nothing is left of is not written again and again', () => {
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
    const alive = chosen.reduce((sum, { aliveChunks }) => sum + aliveChunks, 0)
    segments = [...segments.filter((segment) => !chosen.includes(segment)), of(alive)]
  }
  assert.ok(segments.length < 20)
})

test('new text is joined three segments at a time and more, and not with what is much larger', () => {
  assert.equal(joinedYoungest([64, 64], 1000, 4096), 0)
  assert.equal(joinedYoungest([64, 64, 64], 1000, 4096), 3)
  assert.equal(joinedYoungest([192, 64, 64, 64], 1000, 4096), 4)
  assert.equal(joinedYoungest([500, 64, 64, 64], 1000, 4096), 3)
  assert.equal(joinedYoungest([500, 64, 64, 64], 150, 4096), 0)
  assert.equal(joinedYoungest([511, 511, 511], 65_536, 4096), 3)
  assert.equal(joinedYoungest([512, 512, 512], 65_536, 4096), 0, 'they are sealed soon')
})

test('new text in batches of any size stands in few segments, each chunk written a few times', () => {
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
