import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ErrorCode, errorTable, TidemarkError } from './errors.ts'

test('every code is in snake case with an error status, and is marked retryable where the status implies it', () => {
  for (const [code, { status, retryable }] of Object.entries(errorTable)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.ok(status >= 400 && status <= 599, code)
    if ([408, 429, 500, 503].includes(status)) assert.equal(retryable, true, code)
    if ([400, 401, 403, 404, 405, 413, 415].includes(status)) assert.equal(retryable, false, code)
  }
})

test('every code says what to do about it, in a sentence or two that fit into a table', () => {
  for (const [code, { remedy }] of Object.entries(errorTable)) {
    assert.match(remedy, /^[A-Z][^|\n]{15,160}\.$/, code)
  }
})

test('an error carries the status of its code', () => {
  for (const [code, { status }] of Object.entries(errorTable)) {
    assert.equal(new TidemarkError(code as ErrorCode, 'x').status, status)
  }
})
