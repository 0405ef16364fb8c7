import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { duration, Progress, progressLine } from './progress.ts'

test('a line shows a bar, the share, the text and the time left', () => {
  const line = progressLine({ done: 25, total: 100, text: '25 documents' }, 10_000)
  assert.equal(line, `${'█'.repeat(6)}${'░'.repeat(18)}  25 %  25 documents, 30 s left`)
})

test('at the end nothing is left, and a share never exceeds the whole', () => {
  assert.match(progressLine({ done: 120, total: 100, text: 'x' }, 1000), /^█{24} 100 % {2}x$/)
})

test('without a known total there is only the text', () => {
  assert.equal(progressLine({ done: 5, total: null, text: '5 documents' }, 1000), '5 documents')
  assert.equal(progressLine({ done: 0, total: 0, text: 'empty' }, 1000), 'empty')
})

test('durations are short to read', () => {
  assert.deepEqual([400, 59_000, 61_000, 3_720_000].map(duration), ['0 s', '59 s', '1 min 1 s', '1 h 2 min'])
})

test('a name in a line cannot move the cursor or start a new line', () => {
  const stream = new PassThrough()
  new Progress(stream as unknown as NodeJS.WriteStream).end({ done: 1, total: null, text: 'a\u001b[2J\nb: 1' })
  assert.equal(String(stream.read()), 'a\\u001b[2J\\u000ab: 1\n')
})
