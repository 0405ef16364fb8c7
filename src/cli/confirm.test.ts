import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { confirm } from './confirm.ts'

const terminal = (typed: string | null) => {
  const input = Object.assign(new PassThrough(), { isTTY: true })
  const output = new PassThrough()
  input.end(typed ?? '')
  return { input, output }
}

test('only yes confirms; the end of the input means no', async () => {
  for (const yes of ['y', 'Y', 'yes', ' Yes ']) assert.equal(await confirm('erase', false, terminal(`${yes}\n`)), true)
  for (const no of ['', 'n', 'no', 'yesterday']) assert.equal(await confirm('erase', false, terminal(`${no}\n`)), false)
  assert.equal(await confirm('erase', false, terminal(null)), false)
})

test('the question says what will be done', async () => {
  const answered = terminal('n\n')
  await confirm('erase 3 documents', false, answered)
  assert.match(String(answered.output.read()), /^Erase 3 documents\? This cannot be undone\. \[y\/N\] /)
})

test('without a terminal, --yes is required', async () => {
  const input = new PassThrough()
  const output = new PassThrough()
  await assert.rejects(confirm('erase 3 documents', false, { input, output }), /add --yes to erase 3 documents/)
  assert.equal(await confirm('erase 3 documents', true, { input, output }), true)
  assert.equal(output.read(), null)
})

test('the question shows invisible characters', async () => {
  const answered = terminal('n\n')
  await confirm('erase "a\u202eb\u009b2K"', false, answered)
  assert.match(String(answered.output.read()), /^Erase "a\\u202eb\\u009b2K"\? This cannot be undone\./)
})
