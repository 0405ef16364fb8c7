import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writtenForm } from './written-form.ts'

test('a word is written as the first text that has it writes it', () => {
  assert.equal(writtenForm('hauser', ['Die Strasse', 'Häuser, „HÄUSER“']), 'häuser')
  assert.equal(writtenForm('strasse', ['Die Straße', 'Strasse']), 'straße')
  assert.equal(writtenForm('lighthouse', ['The Lighthouse – at sea']), 'lighthouse')
  assert.equal(writtenForm('cafe', []), 'cafe')
  assert.equal(writtenForm('istanbul', ['Bugün İstanbul']), 'İstanbul')
})
