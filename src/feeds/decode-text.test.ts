import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeText } from './decode-text.ts'

const latin = (text: string): Buffer => Buffer.from(text, 'latin1')

test('the byte order mark, the header, the declaration and the bytes decide, in that order', () => {
  const xml = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?><a>é</a>`
  assert.equal(decodeText(Buffer.from('\ufeffé', 'utf8'), 'text/xml; charset=iso-8859-1'), 'é')
  assert.equal(decodeText(Buffer.from('\ufeffé', 'utf16le'), undefined), 'é')
  assert.equal(decodeText(latin('é'), 'text/xml; charset="ISO-8859-1"'), 'é')
  assert.equal(decodeText(latin(xml('iso-8859-1')), 'text/xml'), xml('iso-8859-1'))
  assert.equal(decodeText(Buffer.from(xml('utf-16')), undefined), xml('utf-16'))
  // Declared as UTF-8 but not valid: falls back to the declaration, then to windows-1252.
  assert.equal(decodeText(latin(xml('iso-8859-1')), 'text/xml; charset=utf-8'), xml('iso-8859-1'))
  assert.equal(decodeText(latin(xml('utf-8')), 'text/xml; charset=utf-8'), xml('utf-8'))
  assert.equal(decodeText(latin('é'), 'text/xml; charset=klingon'), 'é')
  assert.equal(decodeText(Buffer.from([0xcf, 0xf0]), 'text/xml; charset=windows-1251'), 'Пр')
})
