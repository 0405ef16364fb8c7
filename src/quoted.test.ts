import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quoted } from './quoted.ts'

test('a value is quoted on one line, and shortened where it is long', () => {
  assert.equal(quoted('a "b"\n'), '"a \\"b\\"\\n"')
  assert.equal(quoted('a'.repeat(5000)), `"${'a'.repeat(200)}…"`)
})
