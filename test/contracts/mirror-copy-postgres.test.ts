import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PostgresCopy } from '../../src/mirror/postgres-copy.ts'
import { freshDatabase } from '../support/fresh-database.ts'
import { inDatabase } from '../support/in-database.ts'
import { checkMirrorCopy, documentNamed, everything } from './mirror-copy.ts'

/** One database for all tests, because creating one takes longer than all tests here. */
let database: Promise<string> | undefined

checkMirrorCopy(
  'PostgreSQL',
  async () => {
    database ??= freshDatabase().then(({ url }) => url)
    const url = await database
    return {
      open: () => PostgresCopy.open(url),
      remove: async () => void (await inDatabase(url, 'drop schema tidemark_mirror cascade')),
    }
  },
  15,
)

test('a PostgreSQL copy that an older version made gets the columns that it lacks', async () => {
  const { url } = await freshDatabase()
  const position = { applicationId: 'a', entitlements: '', exportCursor: null, exportedThrough: '', changesCursor: 'c' }
  await (await PostgresCopy.open(url)).close()
  await inDatabase(url, 'alter table tidemark_mirror.document drop column thumbnail_url')
  const copy = await PostgresCopy.open(url)
  const document = documentNamed('doc_1', { thumbnail_url: 'https://a.example/a.png' })
  await copy.save({ documents: [document], gone: [], position })
  assert.deepEqual(await everything(copy, 10), [document])
  await copy.close()
})
