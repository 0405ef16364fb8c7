import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer, type TestServer } from '../../test/acceptance/harness.ts'
import { progress } from '../support/progress.ts'
import type { RelevanceSet } from './read-sets.ts'

const batchDocuments = 100

export interface ServedCollection {
  readonly server: TestServer
  readonly key: string
  /** The ID of a document in the set, by its ID in the store. */
  readonly idOf: ReadonlyMap<string, string>
}

/**
 * Starts a server with a store for this set, and waits until all words and vectors are indexed. The store is kept; the
 * index is rebuilt each time.
 */
export async function serveCollection(
  set: RelevanceSet,
  env: Readonly<Record<string, string>> = {},
): Promise<ServedCollection> {
  const model = env.TIDEMARK_EMBEDDING_MODEL ?? ''
  const content = createHash('sha256').update(JSON.stringify(set.documents)).digest('hex').slice(0, 16)
  const dataDir = join(
    tmpdir(),
    'tidemark-relevance',
    `${set.name.replaceAll(' ', '-')}-${content}${model === '' ? '' : `-${model}`}`,
  )
  const mark = join(dataDir, 'made')
  if (!existsSync(mark)) rmSync(dataDir, { recursive: true, force: true })
  mkdirSync(dataDir, { recursive: true })
  for (const file of readdirSync(dataDir)) if (file.startsWith('search')) rmSync(join(dataDir, file))
  const server = await startServer({ dataDir, env: { TIDEMARK_LOG_LEVEL: 'error', ...env } })
  await server.makeDataset('bench')
  const { key: collector } = await server.makeCollector({ datasets: ['bench'] })
  const idOf = new Map<string, string>()
  // Collections have a few empty documents, which the collector API does not accept.
  const documents = set.documents.filter(({ title, text }) => title.trim() !== '' || text.trim() !== '')
  // Documents that are stored already are sent too, because the answers have their IDs.
  for (let from = 0; from < documents.length; from += batchDocuments) {
    const batch = documents.slice(from, from + batchDocuments)
    const answer = await server.collector(collector, 'POST', '/collector/v1/documents', {
      documents: batch.map(({ id, language, title, text }) => ({
        dataset_id: 'bench',
        source_platform: 'bench',
        external_id: id,
        language,
        ...(title === '' ? {} : { title }),
        ...(text === '' ? {} : { body: text }),
      })),
    })
    if (answer.status !== 200) throw new Error(`${set.name} could not be loaded: ${answer.text}`)
    const results: readonly { index: number; document_id?: string }[] = answer.body.results
    for (const { index, document_id } of results) if (document_id !== undefined) idOf.set(document_id, batch[index]!.id)
  }
  if (idOf.size !== documents.length) throw new Error(`${set.name}: only ${idOf.size} documents were accepted`)
  await untilIndexed(set.name, server, documents.length)
  writeFileSync(mark, '')
  const { key } = await server.makeApplication({ entitlements: [{ datasets: ['bench'] }] })
  return { server, key, idOf }
}

async function untilIndexed(name: string, server: TestServer, documents: number): Promise<void> {
  for (;;) {
    const state = await server.mustAdmin('GET', '/admin/v1/indexing')
    progress(`${name}: ${state.pending_documents} documents and ${state.pending_vectors} vectors to go`)
    if (state.pending_chunks === 0 && state.indexed_documents >= documents) break
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  progress('')
}
