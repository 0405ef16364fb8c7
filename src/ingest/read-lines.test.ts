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

suite('reading the lines of a stream', () => {
  test('gives the lines of the whole text, wherever the chunks end', async () => {
    const text = fc
      .array(fc.constantFrom('a', '\n', '\r\n', 'é', '😀', '\u2028', '\ufeff', '{"x":1}', ''), { maxLength: 40 })
      .map((parts) => parts.join(''))
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(), { maxLength: 12 }), async (whole, ends) => {
        const lines = await linesOf(Buffer.from(whole), ends)
        const expected: Omit<Line, 'tooLong' | 'garbled'>[] = []
        let endsAt = 0
        for (const [i, text] of whole.split('\n').entries()) {
          const ended = i < whole.split('\n').length - 1
          endsAt += Buffer.byteLength(text) + (ended ? 1 : 0)
          expected.push({ text: text.startsWith('\ufeff') ? text.slice(1) : text, ended, endsAt })
        }
        // Readers may or may not yield empty lines.
        const withText = ({ text }: { text: string }): boolean => text !== '' && text !== '\r'
        assert.deepEqual(
          lines.filter(withText).map(({ text, ended, endsAt: at }) => ({ text, ended, endsAt: at })),
          expected.filter(withText),
        )
        assert.ok(lines.every((line) => !line.garbled && !line.tooLong))
      }),
      { numRuns: 1000 },
    )
  })

  test('skips lines over the limit, and only these', async () => {
    const pieces = fc.array(fc.nat({ max: 30 }), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(pieces, fc.array(fc.nat(), { maxLength: 12 }), async (lengths, ends) => {
        const lines = await linesOf(Buffer.from(lengths.map((one) => `${'x'.repeat(one)}\n`).join('')), ends, 10)
        assert.deepEqual(
          lines.map((line) => (line.tooLong ? -1 : line.text.length)),
          lengths.filter((one) => one > 0).map((one) => (one > 10 ? -1 : one)),
        )
      }),
      { numRuns: 500 },
    )
  })

  test('skips empty lines', async () => {
    for (const text of ['\n', '\r\n', '\n\n\r\n\n', '\n'.repeat(100_000)])
      assert.deepEqual(await linesOf(Buffer.from(text), []), [])
    const lines = await linesOf(Buffer.from('\n\na\r\n\r\n\nb'), [])
    assert.deepEqual(
      lines.map(({ text, endsAt }) => [text, endsAt]),
      [
        ['a\r', 5],
        ['b', 9],
      ],
    )
  })

  test('marks lines that are not UTF-8', async () => {
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

  test('gives the complete lines of a source before its error', async () => {
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
