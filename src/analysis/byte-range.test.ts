import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { rangeOf } from './byte-range.ts'

suite('byte ranges', () => {
  test('one range of bytes', () => {
    assert.deepEqual(rangeOf('bytes=0-0', 10), { kind: 'part', start: 0, end: 0 })
    assert.deepEqual(rangeOf('bytes=3-', 10), { kind: 'part', start: 3, end: 9 })
    assert.deepEqual(rangeOf('bytes=-3', 10), { kind: 'part', start: 7, end: 9 })
    assert.deepEqual(rangeOf('bytes=-30', 10), { kind: 'part', start: 0, end: 9 })
    assert.deepEqual(rangeOf('bytes=3-99999999999999999999', 10), { kind: 'part', start: 3, end: 9 })
  })

  test('an unsatisfiable range, and a value that is not a range', () => {
    for (const header of ['bytes=10-', 'bytes=10-12', 'bytes=-0']) {
      assert.equal(rangeOf(header, 10).kind, 'unsatisfiable', header)
    }
    assert.equal(rangeOf('bytes=-5', 0).kind, 'unsatisfiable')
    for (const header of [undefined, '', 'bytes', 'bytes=', 'bytes=-', 'bytes=5-3', 'bytes=0-1,3-4', 'lines=0-1']) {
      assert.equal(rangeOf(header, 10).kind, 'whole', String(header))
    }
  })

  test('a part always lies in the file', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^bytes=\d{0,4}-\d{0,4}$/)), fc.nat(2000), (header, size) => {
        const range = rangeOf(header, size)
        if (range.kind === 'part') assert.ok(0 <= range.start && range.start <= range.end && range.end < size)
      }),
    )
  })
})
