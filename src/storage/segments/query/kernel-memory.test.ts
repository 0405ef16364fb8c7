import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keywordLayout, termLayout, vectorLayout } from './kernel-layouts.ts'
import { openMemory } from './kernel-memory.ts'

test('no two parts of the memory of a kernel overlap', () => {
  for (const { memory, arrays } of [openMemory(keywordLayout), openMemory(vectorLayout), openMemory(termLayout)]) {
    const inOrder = Object.values(arrays).sort((a, b) => a.byteOffset - b.byteOffset)
    for (const [i, array] of inOrder.entries()) {
      const next = inOrder[i + 1]?.byteOffset ?? memory.buffer.byteLength
      assert.ok(array.byteOffset + array.byteLength <= next, `a part at ${array.byteOffset} extends beyond ${next}`)
      array.fill(1)
    }
    assert.ok(inOrder.length > 1)
  }
})

test('numbers with names are written to the offsets that the text of the kernel reads, and nowhere else', () => {
  const { memory, write } = openMemory(vectorLayout)
  const numbers = { codes: 1, codeBytes: 2, present: 3, rows: 4, rowBlocks: 5, scales: 0xfffffff0 }
  write.column(numbers)
  const words = new Uint32Array(memory.buffer)
  for (const [name, number] of Object.entries(numbers)) assert.equal(words[vectorLayout.names[name]! / 4], number)
  assert.equal(words.filter((word) => word !== 0).length, Object.keys(numbers).length)
})
