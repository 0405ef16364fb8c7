import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { type Line, readLines } from './read-lines.ts'

async function* inChunks(bytes: Uint8Array, ends: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0
  for (const end of [...ends.map((one) => one % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    yield bytes.subarray(from, end)
    from = end
  }
}

async function linesOf(bytes: Uint8Array, ends: readonly number[], lineBytesMax = 1000): Promise<Line[]> {
  return Array.fromAsync(readLines(inChunks(bytes, ends), lineBytesMax))
}

suite('lines of a stream', () => {
  test('are those of the whole text, wherever the chunks end', async () => {
    const text = fc
      .array(fc.constantFrom('a', '\n', '\r\n', 'é', '😀', '\u2028', '\ufeff', '{"x":1}', ''), { maxLength: 40 })
      .map((parts) => parts.join(''))
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(), { maxLength: 12 }), async (whole, ends) => {
        const expected = whole.split('\n')
        const last = expected.pop()!
        const lines = await linesOf(Buffer.from(whole), ends)
        const withoutMark = (line: string) => (line.startsWith('\ufeff') ? line.slice(1) : line)
        assert.deepEqual(
          lines.map((line) => line.text),
          [...expected, ...(last === '' ? [] : [last])].map(withoutMark),
        )
        assert.deepEqual(
          lines.map((line) => line.ended),
          [...expected.map(() => true), ...(last === '' ? [] : [false])],
        )
        assert.ok(lines.every((line) => !line.garbled && !line.tooLong))
        let position = 0
        for (const [i, line] of lines.entries()) {
          position += Buffer.byteLength(expected[i] ?? last) + (line.ended ? 1 : 0)
          assert.equal(line.endsAt, position)
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('over the limit are skipped, and only they', async () => {
    const pieces = fc.array(fc.nat({ max: 30 }), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(pieces, fc.array(fc.nat(), { maxLength: 12 }), async (lengths, ends) => {
        const lines = await linesOf(Buffer.from(lengths.map((one) => `${'x'.repeat(one)}\n`).join('')), ends, 10)
        assert.deepEqual(
          lines.map((line) => (line.tooLong ? -1 : line.text.length)),
          lengths.map((one) => (one > 10 ? -1 : one)),
        )
      }),
      { numRuns: 500 },
    )
  })

  test('that are not UTF-8 say so', async () => {
    const bytes = Buffer.concat([
      Buffer.from('good é\n'),
      Buffer.from([0x62, 0xe9, 0x0a]),
      Buffer.from('cut \u00e9').subarray(0, 5),
    ])
    for (let end = 0; end < bytes.length; end++) {
      const lines = await linesOf(bytes, [end])
      assert.deepEqual(
        lines.map((line) => [line.text, line.garbled]),
        [
          ['good é', false],
          ['b\ufffd', true],
          ['cut \ufffd', true],
        ],
      )
    }
  })

  test('a source that fails gives its complete lines first', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('one\ntwo\nthr')
      throw new Error('gone')
    }
    const seen: string[] = []
    await assert.rejects(async () => {
      for await (const line of readLines(broken(), 100)) seen.push(line.text)
    }, /gone/)
    assert.deepEqual(seen, ['one', 'two'])
  })
})
