import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const lines = ['documents', 'updates'].flatMap((name) =>
  readFileSync(new URL(`../../sample/${name}.ndjson`, import.meta.url), 'utf8')
    .trim()
    .split('\n'),
)

test('the URLs of the sample reveal nothing to a reader without titles', () => {
  assert.ok(lines.length > 300)
  for (const line of lines) {
    const { url, external_id } = JSON.parse(line) as { url: string; external_id: string }
    assert.equal(url.split('/').at(-1), external_id)
  }
})
