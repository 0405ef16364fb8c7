import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fieldPermissions } from '../../access/scope.ts'
import { type IndexChange, noFilters, type SearchIndex } from '../../search/search-index.ts'
import { analyse } from '../../text/analyse.ts'
import { parseQuery } from '../../text/parse-query.ts'
import { openSegmentsIndex } from './segments-index.ts'

const columns = { datasetId: 'd', platform: 'p', language: 'en', region: null, publishedAt: 0, contentType: null }
const scope = {
  entries: [
    {
      datasets: ['d'],
      platforms: null,
      languages: null,
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields: fieldPermissions,
    },
  ],
}
const documents = Array.from({ length: 60 }, (_, i) => `doc-${i}`)

const put = (documentId: string, version: number): IndexChange => ({
  kind: 'put_version',
  documentId,
  versionId: `${documentId} v${version}`,
  columns,
  current: true,
  title: analyse('', 'en'),
  chunks: [0, 1].map((i) => ({
    chunkId: `${documentId} v${version} ${i}`,
    body: analyse('tide mark', 'en'),
    vectors: [{ profileId: 'm', vector: [1, i] }],
  })),
})

/** Ids of what is found by words and by vector. */
async function found(index: SearchIndex): Promise<string[][]> {
  const asked = { scope, filters: noFilters, timeoutMs: 60_000 }
  const query = parseQuery('tide', ['en'])
  const pages = await Promise.all([
    index.keyword({ ...asked, query, limit: 1000, after: null, otherChunksMax: 0 }),
    index.vector({ ...asked, profileId: 'm', vector: [1, 0], topK: 1000 }),
  ])
  return pages.map((page) => {
    assert.ok(page.outcome === 'found')
    return page.hits.map(({ documentId }) => documentId)
  })
}

test('a search by several threads sees each document once while documents move between segments', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'search-threads-'))
  const layout = { readers: 3, sealChunks: 8, segmentChunks: 32, mergeFanIn: 2, splitFromChunks: 0 }
  const index = await openSegmentsIndex({ path: join(folder, 'index.db'), ...layout })
  try {
    let version = 1
    let position = 1
    await index.apply({ position, changes: documents.map((id) => put(id, version)) })
    const all = documents.toSorted()
    let searches = 0
    const until = performance.now() + 2000
    const write = async (): Promise<void> => {
      while (performance.now() < until) {
        version++
        for (let from = 0; from < documents.length; from += 7) {
          const changes = documents.slice(from, from + 7).map((id) => put(id, version))
          await index.apply({ position: ++position, changes })
        }
      }
    }
    const search = async (): Promise<void> => {
      while (performance.now() < until) {
        for (const ids of await found(index)) assert.deepEqual(ids.toSorted(), all)
        searches++
      }
    }
    await Promise.all([write(), search()])
    assert.ok(searches > 20 && version > 3, `${searches} searches, ${version} versions`)
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
