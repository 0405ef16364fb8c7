import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, inWords } from './call-api.ts'

const words = (message: string, details: ApiError['details']) =>
  inWords(new ApiError(400, { code: 'invalid_request', message, details }, new Headers()))

test('an error is one sentence, and names each fault once', () => {
  const unknown = { path: 'nmae', message: 'unknown field' }
  const wrong = { path: 'policy.burst', message: 'must be a whole number' }
  assert.equal(words('unknown field "nmae"', [unknown]), 'Unknown field "nmae".')
  assert.equal(
    words('unknown field "nmae"; policy.burst must be a whole number', [unknown, wrong]),
    'Unknown field "nmae"; policy.burst must be a whole number.',
  )
  assert.equal(
    words('dataset news is in use: documents: 2', [{ path: 'documents', message: 'documents: 2' }]),
    'Dataset news is in use: documents: 2.',
  )
})

test('an item of a list is named without its number', () => {
  const detail = { path: 'languages.0', message: 'must be a language code' }
  assert.equal(words('languages.0 must be a language code', [detail]), 'Languages must be a language code.')
})
