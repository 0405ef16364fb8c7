import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesTag } from './conditional-requests.ts'

test('a tag is named by itself, by its weak form, and by a star', () => {
  assert.ok(namesTag('"a"', '"a"'))
  assert.ok(namesTag('"b", W/"a"', '"a"'))
  assert.ok(namesTag('*', '"a"'))
  assert.ok(!namesTag('"b"', '"a"'))
  assert.ok(!namesTag(undefined, '"a"'))
})
