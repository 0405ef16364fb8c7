import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignInCodes } from './sign-in-codes.ts'

test('a code gives its key once, within an hour, and no other code gives it', () => {
  let now = 1_000
  const codes = new SignInCodes(() => now)
  const [first, second, late] = [codes.issue('tmc_a'), codes.issue('tmc_b'), codes.issue('tmc_c')]
  assert.equal(new Set([first, second, late]).size, 3)
  assert.ok(![first, second, late].some((code) => code.includes('tmc_')))
  assert.equal(codes.redeem(`${first}x`), null)
  assert.equal(codes.redeem(''), null)
  assert.equal(codes.redeem(first), 'tmc_a')
  assert.equal(codes.redeem(first), null)
  now += 3_599_999
  assert.equal(codes.redeem(second), 'tmc_b')
  now += 1
  assert.equal(codes.redeem(late), null)
})
