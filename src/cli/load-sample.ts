import { fileURLToPath } from 'node:url'
import type { Instance } from '../compose.ts'
import { importFile } from '../ingest/import-file.ts'
import { planInstance } from '../operator/instance-file.ts'
import { dayMs } from '../time.ts'
import { readInstanceFile } from './apply.ts'

const sample = new URL('../../sample/', import.meta.url)
const actor = 'start'
const keyDays = 30

/** Loads the sample into an empty store, and makes a key for this start: only hashes are kept, so an earlier key cannot be shown again. */
export async function loadSample(
  instance: Pick<Instance, 'operator' | 'ingest' | 'store'>,
): Promise<{ key: string; documents: number; sampleSince: number }> {
  const file = await readInstanceFile(new URL('instance.yaml', sample))
  const plan = await planInstance(file, instance.operator.read)
  await instance.operator.commit(actor, plan.changes)
  let documents = 0
  if ((await instance.store.changes.state()).newest === 0) {
    // The second file holds later versions and metrics of some documents of the first.
    for (const file of ['documents.ndjson', 'updates.ndjson']) {
      const path = fileURLToPath(new URL(file, sample))
      const { outcomes } = await importFile({ path, position: null, refused: null }, instance.ingest, () => {})
      documents += outcomes.created ?? 0
    }
  }
  const application = (await instance.operator.read.applications()).find((one) => one.name === 'Sample reader')
  const read = new Set(application!.entitlements.flatMap(({ datasets }) => datasets))
  const expiresAt = Date.now() + keyDays * dayMs
  const made = await instance.operator.createKey(actor, application!.applicationId, { name: 'npm start', expiresAt })
  const datasets = (await instance.operator.read.datasets()).filter(({ datasetId }) => read.has(datasetId))
  const sampleSince = Math.min(...datasets.map(({ createdAt }) => createdAt))
  return { key: made.secret, documents, sampleSince }
}
