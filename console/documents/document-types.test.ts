import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { answerRows } from '../../src/document/rows.ts'

/** The console imports no server code, so this test compares its type with the server's table of fields. */
test('the console has a type for every field of a document, optional where it needs a permission', () => {
  const source = readFileSync(new URL('./document-types.ts', import.meta.url), 'utf8')
  const [, fields = ''] = /^export interface Document \{$(.*?)^\}$/ms.exec(source) ?? []
  const declared = Array.from(fields.matchAll(/^ {2}readonly (\w+\??):/gm), ([, name]) => name)
  const expected = answerRows.map(({ name, openedBy }) => (openedBy === undefined ? name : `${name}?`))
  assert.deepEqual(declared, expected)
})
