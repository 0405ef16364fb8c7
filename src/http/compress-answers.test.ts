import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodingFor } from './compress-answers.ts'

test('the encoding that the client prefers is used; among equal ones, our order decides', () => {
  const cases: readonly (readonly [string | undefined, string | null])[] = [
    [undefined, null],
    ['', null],
    ['identity', null],
    ['gzip', 'gzip'],
    ['gzip, deflate', 'gzip'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['br;q=1.0, gzip;q=0.8, *;q=0.1', 'br'],
    ['GZIP ; Q=0.5', 'gzip'],
    ['zstd;q=0, br;q=0.0, *', 'gzip'],
    ['*', 'zstd'],
    ['*;q=0', null],
    ['gzip;q=much', null],
  ]
  for (const [accepted, encoding] of cases) assert.equal(encodingFor(accepted), encoding, `${accepted}`)
})

test('no encoding is used that the client does not accept', () => {
  const part = fc.constantFrom('zstd', 'br', 'gzip', 'deflate', '*', 'q=0', 'q=1', ';', ',', ' ', 'x')
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const accepted = parts.join('')
      const encoding = encodingFor(accepted)
      assert.ok(encoding === null || accepted.includes(encoding) || accepted.includes('*'))
    }),
  )
})
