import { createHash } from 'node:crypto'
import type { Run } from './analysis-store.ts'
import type { ArtifactFiles } from './artifact-files.ts'
import type { SubscriptionStore } from './subscription-store.ts'

/** About that of a million chunks: it is held in memory. A larger one counts as lost. */
const bytesMax = 48 * 2 ** 20

interface ResultBefore {
  /** Null where there is none. */
  readonly bytes: Uint8Array | null
  /** There was one, and it is gone or not what it was. */
  readonly isLost: boolean
}

/** An artifact of the run that a run of a subscription follows. A place of artifacts that cannot be reached throws. */
export async function resultBefore(
  { applicationId, subscription }: Run,
  name: string,
  {
    store,
    files,
    now,
  }: { readonly store: SubscriptionStore; readonly files: ArtifactFiles; readonly now: () => number },
): Promise<ResultBefore> {
  const known = await store.subscription(applicationId, subscription!.subscriptionId)
  const last = known?.checkpoint ?? null
  if (last === null) return { bytes: null, isLost: false }
  const before = await store.run(applicationId, last.runId)
  // An older one would do no better: topics that have come and gone since would come back, or go twice.
  if (before === null || before.status !== 'succeeded' || before.expiresAt <= now())
    return { bytes: null, isLost: true }
  const artifact = (await store.artifacts(before.runId)).find((one) => one.name === name)
  if (artifact === undefined || artifact.bytes > bytesMax) return { bytes: null, isLost: true }
  const stream = await files.read(artifact, 0, artifact.bytes - 1)
  if (stream === null) return { bytes: null, isLost: true }
  const hash = createHash('sha256')
  const parts: Uint8Array[] = []
  for await (const part of stream as AsyncIterable<Uint8Array>) {
    hash.update(part)
    parts.push(part)
  }
  const isWhole = hash.digest('hex') === artifact.sha256
  return { bytes: isWhole ? Buffer.concat(parts) : null, isLost: !isWhole }
}
