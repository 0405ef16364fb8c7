import { readFile } from 'node:fs/promises'
import type { Instance } from '../compose/compose.ts'
import type { IncomingDocument } from '../ingest/content-store.ts'
import { checkDocument } from '../ingest/document-input.ts'
import { type InstanceFile, planInstance } from '../operator/instance-file.ts'
import type { Operator } from '../operator/operator.ts'
import type { Application } from '../operator/operator-store.ts'
import { TidemarkError } from '../platform/errors.ts'
import { dayMs } from '../platform/time.ts'
import { readInstanceFile } from './apply-file.ts'

const sample = new URL('../../sample/', import.meta.url)
const actor = 'start'
const keyName = 'npm start'
const keyDays = 30

type Loaded = Pick<Instance, 'operator' | 'ingest' | 'store'>

/**
 * Throws if the instance has other data, because the sample would rename its datasets, and the key of the sample could
 * read them.
 */
export async function refuseOtherData({ operator: { read }, store }: Omit<Loaded, 'ingest'>): Promise<void> {
  const [{ name }] = (await sampleFile()).applications as [{ name: string }]
  const applications = await read.applications()
  if (oldest(applications, name) !== undefined) return
  const isEmpty = applications.length === 0 && (await read.datasets()).length === 0
  if (isEmpty && (await store.changes.state()).newest === 0) return
  throw new TidemarkError(
    'conflict',
    'this instance has data that is not the sample: use tidemark serve, or start with another folder (--data-dir)',
  )
}

const sampleFile = (): Promise<InstanceFile> => readInstanceFile(new URL('instance.yaml', sample))

/**
 * Loads the sample into an empty store, unless a signal comes first. Returns the number of new documents. One
 * transaction writes all of them, so that a killed start never leaves a part of the sample, which the next start would
 * not complete.
 */
export async function loadSample(instance: Loaded, signal: AbortSignal): Promise<number> {
  const plan = await planInstance(
    await withSampleIds(await sampleFile(), instance.operator.read),
    instance.operator.read,
  )
  await instance.operator.commit(actor, plan.changes)
  if ((await instance.store.changes.state()).newest > 0) return 0
  // The second file has later versions and metrics of some documents of the first.
  const documents = [...(await documentsOf('documents.ndjson')), ...(await documentsOf('updates.ndjson'))]
  if (signal.aborted) return 0
  const results = await instance.ingest.submit(documents)
  return results.filter((result) => 'outcome' in result && result.outcome === 'created').length
}

async function documentsOf(file: string): Promise<IncomingDocument[]> {
  const lines = (await readFile(new URL(file, sample), 'utf8')).trimEnd().split('\n')
  return lines.map((line) => {
    const checked = checkDocument(JSON.parse(line))
    if ('refusal' in checked) throw new Error(`${file}: ${checked.refusal.message}`)
    return checked.document
  })
}

/**
 * Creates a key for this start. The server is already up, so an administrator may have deleted the sample: then it
 * throws `not_found`.
 */
export async function keyToSample({
  operator,
}: Pick<Loaded, 'operator'>): Promise<{ key: string; sampleSince: number }> {
  const [{ name }] = (await sampleFile()).applications as [{ name: string }]
  const application = oldest(await operator.read.applications(), name)
  if (application === undefined) throw new TidemarkError('not_found', `there is no application ${JSON.stringify(name)}`)
  const read = new Set(application.entitlements.flatMap(({ datasets }) => datasets))
  const datasets = (await operator.read.datasets()).filter(({ datasetId }) => read.has(datasetId))
  if (datasets.length === 0) throw new TidemarkError('not_found', 'there are no datasets')
  const sampleSince = Math.min(...datasets.map(({ createdAt }) => createdAt))
  return { key: await keyOfThisStart(operator, application.applicationId), sampleSince }
}

/**
 * Creates a key for each start, because only hashes are stored and an earlier key cannot be shown again. Revokes unused
 * keys of earlier starts; used ones stay valid.
 */
async function keyOfThisStart(operator: Operator, applicationId: string): Promise<string> {
  const unused = (await operator.read.keys({ ownerId: applicationId })).filter(
    ({ name, revokedAt, lastUsedAt }) => name === keyName && revokedAt === null && lastUsedAt === null,
  )
  await operator.commit(
    actor,
    unused.map(({ keyId }) => ({ kind: 'key.revoke', keyId })),
  )
  const expiresAt = Date.now() + keyDays * dayMs
  return (await operator.createKey(actor, applicationId, { name: keyName, expiresAt })).secret
}

/** If several applications have the sample's name, takes the oldest, because later ones may come from experiments. */
async function withSampleIds(file: InstanceFile, read: Operator['read']): Promise<InstanceFile> {
  const existing = await read.applications()
  const applications = file.applications?.map((described) => {
    const found = oldest(existing, described.name)
    return found === undefined ? described : { ...described, application_id: found.applicationId }
  })
  return { ...file, ...(applications === undefined ? {} : { applications }) }
}

const oldest = (applications: readonly Application[], name: string): Application | undefined =>
  applications.filter((one) => one.name === name).toSorted((a, b) => a.createdAt - b.createdAt)[0]
