import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printable, printableOnOneLine } from './printable.ts'

test('characters that are invisible, or change the display, are printed as escapes', () => {
  const unseen = [0x00, 0x07, 0x08, 0x0d, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x61c, 0x200b, 0x200d, 0x200f]
  unseen.push(0x2028, 0x2029, 0x202e, 0x2060, 0x2066, 0x2069, 0xfeff)
  for (const code of unseen) {
    assert.equal(printable(`a${String.fromCharCode(code)}b`), `a\\u${code.toString(16).padStart(4, '0')}b`)
  }
  assert.equal(printable('a\u{e0041}b'), 'a\\udb40\\udc41b')
})

test('everything else is printed as it is, with the newlines and tabs of the text', () => {
  const text = 'Größe, 東京, עברית, 🌊\n\tnext line …'
  assert.equal(printable(text), text)
})

test('JSON stays the same JSON', () => {
  const value = { name: 'a\u202eb\u009b\\\u200b\u{e0041}"\n\u001b' }
  const printed = printable(JSON.stringify(value, null, 2))
  assert.doesNotMatch(printed, /[\u009b\u202e\u200b]/)
  assert.deepEqual(JSON.parse(printed), value)
})

test('a name cannot start a new line', () => {
  assert.equal(printableOnOneLine('a\nb\tc\u001b'), 'a\\u000ab\\u0009c\\u001b')
})
