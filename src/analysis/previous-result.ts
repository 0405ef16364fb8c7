import { createHash } from 'node:crypto'
import type { Run } from './analysis-store.ts'
import type { ArtifactFiles } from './artifact-files.ts'
import type { SubscriptionStore } from './subscription-store.ts'

/** Limits memory: about the size for a million chunks. A larger artifact counts as lost. */
const bytesMax = 48 * 2 ** 20

interface PreviousResult {
  /** Null if there is none. */
  readonly bytes: Uint8Array | null
  /** Whether it existed and is now missing or damaged. */
  readonly isLost: boolean
}

/**
 * Reads the artifact with this name of the last successful run of a subscription. Throws if the storage of artifacts is
 * unavailable.
 */
export async function previousResult(
  { applicationId, subscription }: Run,
  name: string,
  {
    store,
    files,
    now,
  }: { readonly store: SubscriptionStore; readonly files: ArtifactFiles; readonly now: () => number },
): Promise<PreviousResult> {
  const known = await store.subscription(applicationId, subscription!.subscriptionId)
  const last = known?.checkpoint ?? null
  if (last === null) return { bytes: null, isLost: false }
  const before = await store.run(applicationId, last.runId)
  // An older result is not used instead, because topics that ended since would return, or end twice.
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
