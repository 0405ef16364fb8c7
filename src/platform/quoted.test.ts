import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quoted } from './quoted.ts'

test('a value is quoted on one line, and shortened if it is long', () => {
  assert.equal(quoted('a "b"\n'), '"a \\"b\\"\\n"')
  assert.equal(quoted('a'.repeat(5000)), `"${'a'.repeat(200)}…"`)
})

test('a key that was pasted in place of an ID is not repeated', () => {
  assert.equal(quoted(`tmc_${'ab12'.repeat(10)}`), '"tmc_ab12…"')
  assert.equal(quoted(`tma_${'ab12'.repeat(10)} and more`), '"tma_ab12… and more"')
  assert.equal(quoted('key_01jq4c2v8x0000000000000000'), '"key_01jq4c2v8x0000000000000000"')
})
