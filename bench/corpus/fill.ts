/**
 * `node fill.ts FOLDER CHUNKS` writes a data folder with the corpus. Rows and index are those that indexing would make,
 * but they are written directly, so that a million chunks take minutes instead of an hour.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { builtInModels } from '../../src/embedding/built-in-models.ts'
import type { IndexChange } from '../../src/indexing/fed-index.ts'
import { newId } from '../../src/platform/ids.ts'
import { indexRules } from '../../src/search/index-rules.ts'
import { indexPath, writePointer } from '../../src/storage/segments/file/index-files.ts'
import { openSegmentsIndex } from '../../src/storage/segments/segments-index.ts'
import { migrate } from '../../src/storage/sql/migrate.ts'
import { sqliteMigrationDialect } from '../../src/storage/sqlite/migration-dialect.ts'
import { openSqlite } from '../../src/storage/sqlite/node-sqlite.ts'
import { corpus, datasets } from './corpus.ts'
import { textOf, titleOf } from './texts.ts'

const [folder = '', chunks = '0'] = process.argv.slice(2)
const documentsPerBatch = 250

mkdirSync(folder, { recursive: true })
const { raw, db } = openSqlite(join(folder, 'tidemark.sqlite'), false)
await migrate(db, sqliteMigrationDialect, Date.now())
raw.exec('pragma synchronous = off')
const insert = (table: string): ((row: Readonly<Record<string, string | number | null>>) => void) => {
  const columns = (raw.prepare(`pragma table_info(${table})`).all() as { name: string }[]).map(({ name }) => name)
  const statement = raw.prepare(`insert into ${table} values (${columns.map(() => '?').join(', ')})`)
  return (row) => void statement.run(...columns.map((name) => row[name] ?? null))
}
const putDataset = insert('dataset')
const putProfile = insert('embedding_profile')
const putDocument = insert('document')
const putVersion = insert('document_version')
const putChunk = insert('chunk')

raw.exec('begin')
const at = { created_at: 0, updated_at: 0 }
for (const name of datasets) putDataset({ dataset_id: name, name, ...at })
/** The profiles of an instance whose settings name no model, so that no vector is missing. */
const profiles = [
  { ...builtInModels.multilingualE5Small, is_default: 1, vectors_for: '*' },
  { ...builtInModels.bgeSmallEn, is_default: 0, vectors_for: 'en' },
]
for (const { id, dimensions, is_default, vectors_for } of profiles) {
  const row = { profile_id: id, provider: 'builtin', model: id, dimensions, status: 'active', is_default, vectors_for }
  putProfile({ ...row, ...at })
}

/** The ID of the store, which the index names. Without it the second start would rebuild the index. */
const instance = newId('aud', Date.now())
insert('audit')({ audit_id: instance, at: Date.now(), actor: 'bench', action: 'fill', target: 'bench', detail: '{}' })

const index = await openSegmentsIndex({ path: indexPath(folder, 1) })
await writePointer(folder, { generation: 1, rules: indexRules, instance })
let position = 0
let changes: IndexChange[] = []
let last: Promise<unknown> = Promise.resolve()

async function flush(): Promise<void> {
  const batch = { position: ++position, changes }
  changes = []
  // One batch is written while the next is made.
  await last
  last = index.apply(batch)
}

for (const put of corpus(Number(chunks), true)) {
  const { documentId, versionId, columns } = put
  const title = titleOf(put)
  let body = ''
  for (const [ordinal, chunk] of put.chunks.entries()) {
    const starts_at = body.length
    body += `${textOf(chunk.body)}\n`
    const row = { document_id: documentId, version_id: versionId, ordinal, starts_at, ends_at: body.length - 1 }
    putChunk({ chunk_id: chunk.chunkId, ...row })
  }
  const shared = { document_id: documentId, title, language: columns.language, published_at: columns.publishedAt }
  putVersion({ ...shared, version_id: versionId, body, index_revision: position + 1 })
  putDocument({
    ...shared,
    dataset_id: columns.datasetId,
    source_platform: columns.platform,
    external_id: documentId,
    content_type: columns.contentType,
    status: 'active',
    observed_at: 0,
    updated_at: 0,
    quality: 0.5,
    current_version_id: versionId,
    version_count: 1,
    index_revision: position + 1,
  })
  changes.push(put)
  if (changes.length === documentsPerBatch) await flush()
}
await flush()
await last
raw.exec('commit')
raw.close()
for (let quiet = 0; quiet < 3; ) {
  quiet = (await index.health()).merging ? 0 : quiet + 1
  await new Promise((resolve) => setTimeout(resolve, 200))
}
await index.checkpoint()
await index.close()
process.exit(0)
