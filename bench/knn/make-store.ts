import { builtInModels } from '../../src/embedding/built-in-models.ts'
import { prepareDocument } from '../../src/search/prepare-document.ts'
import { openSqliteStore } from '../../src/storage/sqlite/open-sqlite-store.ts'

export const dataset = 'bench'
export const profileId = builtInModels.bgeSmallEn.id

/** A data folder with one document, chunk and vector for each row: made by the store itself, without a model. */
export async function makeStore(dataDir: string, vectors: Float32Array, dimensions: number): Promise<void> {
  const open = await openSqliteStore(dataDir)
  const { content, operator, indexSource } = open.store
  await operator.commit([{ kind: 'dataset.put', datasetId: dataset, name: 'Bench', description: null }], {
    actor: 'bench',
    at: Date.now(),
  })
  const count = vectors.length / dimensions
  const step = 500
  let revision = 0
  for (let start = 0; start < count; start += step) {
    const documents = Array.from({ length: Math.min(step, count - start) }, (_, i) => ({
      datasetId: dataset,
      platform: 'bench',
      externalId: `n-${start + i}`,
      body: `node ${start + i}`,
    }))
    await content.ingest(documents, Date.now())
    const made = await indexSource.documentsAfter(revision, { documents: step, characters: 10_000_000 })
    revision = made.at(-1)!.revision
    const chunks = []
    for (const document of made) chunks.push(...(await prepareDocument(document, async () => {})).chunks)
    await indexSource.putChunks(chunks)
    await indexSource.putVectors(
      profileId,
      chunks.map(({ chunkId }, i) => ({
        chunkId,
        vector: vectors.slice((start + i) * dimensions, (start + i + 1) * dimensions),
      })),
    )
  }
  await open.close()
}
