import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { newId } from '../../src/ids.ts'
import { termKinds } from '../../src/storage/sql/document-rows.ts'
import { migrate } from '../../src/storage/sql/migrate.ts'
import { sqliteMigrationDialect } from '../../src/storage/sqlite/migration-dialect.ts'
import { openSqlite } from '../../src/storage/sqlite/node-sqlite.ts'

/**
 * A store with as many documents as wanted, first ingested over the last 60 days. Rows are written as ingestion would
 * write them, but past it (no versions, no events), and the indexes are built at the end: a million in a minute.
 *
 * Shares do not depend on the size, except where something is rare: rare tags are on 3 documents, rare topics on 20.
 */
const daysOfIngestion = 60
export const datasets = ['news', 'forum', 'video', 'shop', 'press'] as const
export const rareTags = 50
export const rareTopics = 20
const dayMs = 86_400_000

const zipf = (count: number): number[] => Array.from({ length: count }, (_, i) => 1 / (i + 1))
const picker = <T>(values: readonly T[], weights: readonly number[]) => {
  const sums: number[] = []
  let total = 0
  for (const weight of weights) {
    total += weight
    sums.push(total)
  }
  return (): T => {
    const at = random() * total
    let low = 0
    let high = sums.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle]! > at) high = middle
      else low = middle + 1
    }
    return values[low]!
  }
}

/** The same store in every run: a small generator (mulberry32) in place of chance. */
let state = 1
function random(): number {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

const names = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`)
const json = JSON.stringify

export async function makeStore(dataDir: string, size: number, endMs: number): Promise<void> {
  mkdirSync(dataDir, { recursive: true })
  const { raw, db } = openSqlite(join(dataDir, 'tidemark.sqlite'), false)
  try {
    await migrate(db, sqliteMigrationDialect, endMs)
    for (const dataset of datasets) {
      raw.prepare('insert into dataset values (?, ?, null, 0, 0)').run(dataset, dataset)
    }
    raw.exec('pragma synchronous = off; pragma journal_mode = off')
    const indexes = raw
      .prepare("select name, sql from sqlite_master where type = 'index' and tbl_name = 'document' and sql is not null")
      .all() as { name: string; sql: string }[]
    for (const { name } of indexes) raw.exec(`drop index ${name}`)
    raw.exec('begin')
    writeDocuments(raw, size, endMs)
    for (const { sql } of indexes) raw.exec(sql)
    raw.exec('commit')
    raw.exec('pragma journal_mode = wal')
  } finally {
    raw.close()
  }
}

function writeDocuments(raw: DatabaseSync, size: number, endMs: number): void {
  state = 1
  const dataset = picker(datasets, [50, 25, 15, 7, 3])
  const platform = picker(names('platform-', 6), zipf(6))
  const contentType = picker(['article', 'post', 'comment', 'video', 'review'], zipf(5))
  const language = picker(['en', 'de', 'fr', 'es', 'pt', 'is'], [600, 200, 100, 60, 39.5, 0.5])
  const region = picker(['US', 'GB', 'DE', 'FR', 'ES', 'BR'], zipf(6))
  const author = picker(names('author-', Math.ceil(size / 20)), zipf(Math.ceil(size / 20)))
  const tag = picker(names('tag-', 1000), zipf(1000))
  const topic = picker(names('topic-', 200), zipf(200))
  const code = picker(names('class-', 12), zipf(12))
  const rareAt = spreadOver(size, names('rare-', rareTags), 3)
  const scarceAt = spreadOver(size, names('scarce-', rareTopics), 20)

  const columns = raw.prepare('pragma table_info(document)').all() as { name: string }[]
  const document = raw.prepare(`insert into document values (${columns.map(({ name }) => `$${name}`).join(', ')})`)
  const term = raw.prepare('insert into document_term values (?, ?, ?, ?)')
  const snapshot = raw.prepare('insert into snapshot values (?, ?, ?, ?, ?)')
  const terms: [kind: number, value: string, datasetId: string, documentId: string][] = []

  for (let i = 0; i < size; i++) {
    const createdAt = Math.floor(endMs - ((size - i) / size) * daysOfIngestion * dayMs)
    const documentId = newId('doc', createdAt)
    const versionId = newId('ver', createdAt)
    const snapshotId = newId('snp', createdAt)
    const datasetId = dataset()
    const externalAuthorId = author()
    // Half of the documents have the tag, the others have the topic: both are common, and they never meet.
    const tagged = random() < 0.5
    const tags = new Set([...(tagged ? ['half'] : []), tag(), tag()])
    const rare = rareAt.get(i)
    if (rare !== undefined) tags.add(rare)
    const topics = new Set([...(tagged ? [] : ['other-half']), topic()])
    const scarce = scarceAt.get(i)
    if (scarce !== undefined) topics.add(scarce)
    const codes = random() < 0.6 ? [code()] : []
    const score = random() < 0.2 ? null : Math.floor(Math.exp(random() * random() * 12)) - 3
    const late = random() < 0.1 ? random() * 3 * 365 * dayMs : -Math.log(1 - random()) * 8 * 3_600_000
    const metrics = json({ likes: Math.floor(random() * 100), shares: Math.floor(random() * 20) })
    const profile = {
      external_author_id: externalAuthorId,
      nickname: `The one called ${externalAuthorId}`,
      avatar_url: `https://pictures.example/${externalAuthorId}.jpg`,
      biography: 'Writes about what there is to write about, mostly in the evening.',
      follower_count: Math.floor(random() * 10_000),
    }
    document.run({
      document_id: documentId,
      dataset_id: datasetId,
      source_platform: platform(),
      external_id: `x${i}`,
      url: `https://source.example/${datasetId}/${i}`,
      content_type: contentType(),
      language: language(),
      region: random() < 0.1 ? null : region(),
      status: random() < 0.03 ? 'unavailable' : 'active',
      published_at: random() < 0.03 ? null : Math.floor(createdAt - late),
      observed_at: createdAt,
      updated_at: createdAt,
      title: `What was said about ${[...tags].join(' and ')} on that day, number ${i}`,
      external_author_id: externalAuthorId,
      author: json(profile),
      topics: json([...topics]),
      tags: json([...tags]),
      facts: codes.length === 0 ? null : json(codes.map((one) => fact(one))),
      classifications: codes.length === 0 ? null : json(codes),
      score,
      metrics,
      snapshot_id: snapshotId,
      quality: 0.5,
      extra_payload: json({ collected_by: 'bench', run: i % 97 }),
      body_hash: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      current_version_id: versionId,
      version_count: 1,
      // Below every revision: the search index takes no notice of these documents.
      index_revision: 0,
    })
    snapshot.run(snapshotId, documentId, createdAt, score, metrics)
    for (const one of topics) terms.push([termKinds.topic, one, datasetId, documentId])
    for (const one of tags) terms.push([termKinds.tag, one, datasetId, documentId])
    for (const one of codes) terms.push([termKinds.classification, one, datasetId, documentId])
  }
  // In the order of their key, which is how the table is stored.
  terms.sort((a, b) => a[0] - b[0] || compare(a[1], b[1]) || compare(a[2], b[2]) || compare(a[3], b[3]))
  for (const row of terms) term.run(...row)
}

const fact = (code: string) => ({ kind: 'category', level: 'document', metadata: { label_code: code } })
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Each value on so many documents, in the newer half so that a window of 31 days holds them. */
function spreadOver(size: number, values: readonly string[], times: number): Map<number, string> {
  const places = new Map<number, string>()
  for (const value of values) {
    for (let i = 0; i < times; ) {
      const place = Math.floor(size / 2 + random() * (size / 2))
      if (places.has(place)) continue
      places.set(place, value)
      i++
    }
  }
  return places
}
