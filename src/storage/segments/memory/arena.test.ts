import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Arena, type Block } from './arena.ts'

test('blocks in use never overlap, and everything freed can be used again', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(100_000)), { maxLength: 60 }), (steps) => {
      const arena = new Arena(131_072)
      const used: Block[] = []
      for (const [take, number] of steps) {
        if (take || used.length === 0) {
          const block = arena.allocate(number)
          assert.equal(block.offset % 64, 0)
          used.push(block)
        } else arena.free(used.splice(number % used.length, 1)[0]!)
        const ordered = used.toSorted((a, b) => a.arena - b.arena || a.offset - b.offset)
        ordered.forEach((block, i) => {
          const next = ordered[i + 1]
          // A load of 16 bytes at its last byte stays inside the memory.
          assert.ok(block.offset + block.bytes + 16 <= arena.memories[block.arena]!.buffer.byteLength)
          if (next?.arena === block.arena) assert.ok(block.offset + block.bytes <= next.offset)
        })
      }
      for (const block of used) arena.free(block)
      assert.equal(arena.usedBytes, 0)
      const memories = arena.memories.length
      if (memories > 0) arena.allocate(131_072)
      assert.equal(arena.memories.length, memories)
    }),
    { numRuns: 30 },
  )
})

test('a block larger than a memory gets one of its own', () => {
  const arena = new Arena(65_536)
  const block = arena.allocate(1_000_000)
  assert.ok(arena.memories[block.arena]!.buffer.byteLength >= 1_000_000)
})

test('a 16-byte load at the last byte of a block that fills a memory stays inside the memory', () => {
  const arena = new Arena(65_536)
  const block = arena.allocate(65_536)
  assert.ok(arena.memories[block.arena]!.buffer.byteLength >= block.offset + block.bytes + 16)
})
