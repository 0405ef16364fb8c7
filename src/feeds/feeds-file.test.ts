import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ConfigError } from '../settings/config.ts'
import { readFeedsFile } from './feeds-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-feeds-'))
after(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'feeds.yaml')

/** Reads a valid file with these fields changed. */
function read(fields: object) {
  const file = { server: 'http://127.0.0.1:8080', key: 'tml_x', dataset: 'news', platform: 'rss' }
  writeFileSync(path, JSON.stringify({ ...file, feeds: ['https://example.org/'], ...fields }))
  return readFeedsFile(path, { SET_HERE: 'tml_y' })
}

test('a valid file is read; the key may also come from the environment', () => {
  assert.deepEqual([read({}).key, read({}).dataset], ['tml_x', 'news'])
  assert.equal(read({ key: undefined, key_env: 'SET_HERE' }).key, 'tml_y')
})

const wrong: [object, RegExp][] = [
  [{ key: undefined }, /key or key_env is required/],
  [{ key: undefined, key_env: 'NOT_SET_ANYWHERE' }, /NOT_SET_ANYWHERE, which is not set/],
  [{ server: 'ftp://x' }, /server/],
  [{ feeds: [] }, /feeds/],
  [{ feeds: ['https://a.org/', 'https://a.org/'] }, /twice/],
  [{ allow_private_addresses: ['here'] }, /allow_private_addresses/],
  [{ else: 1 }, /unknown field "else"/],
]
for (const [fields, message] of wrong) {
  test(`an invalid file is explained: ${JSON.stringify(fields)}`, () => {
    assert.throws(
      () => read(fields),
      (error) => error instanceof ConfigError && message.test(error.message),
    )
  })
}
