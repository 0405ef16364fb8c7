import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathSegment as ofServer } from '../../src/platform/path-segment.ts'
import { pathSegment } from './path-segment.ts'

test('any text becomes one segment of an address or is refused, as on the server', () => {
  for (const text of [
    'doc_1',
    'a/b',
    '../..',
    '...',
    '%2e%2e',
    '?',
    '#',
    'a b',
    'é',
    '海',
    '😀',
    '\\',
    '\u0000',
    ' ',
  ]) {
    const segment = pathSegment(text)
    const { pathname } = new URL(`/v1/documents/${segment}/content`, 'http://localhost')
    assert.deepEqual(pathname.split('/').slice(1), ['v1', 'documents', segment, 'content'], text)
    assert.equal(decodeURIComponent(pathname.split('/')[3]!), text)
    assert.equal(ofServer(text), segment)
  }
  for (const text of ['', '.', '..', '\ud800', 'a\udc00b']) {
    assert.throws(() => pathSegment(text), /The ID .* cannot be part of an address/)
    assert.equal(ofServer(text), null)
  }
})
