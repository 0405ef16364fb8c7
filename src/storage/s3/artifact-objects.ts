import type { Artifact } from '../../analysis/analysis-store.ts'
import type { ArtifactFiles } from '../../analysis/artifact-files.ts'
import { type Finding, failure, ok } from '../../operator/examine.ts'
import { artifactEnding } from '../../platform/data-folder.ts'
import { TidemarkError } from '../../platform/errors.ts'
import { isId } from '../../platform/ids.ts'
import type { S3Address } from '../../settings/s3-address.ts'
import { Bucket, BucketError, type KeptObject } from './bucket.ts'

const mediaType = 'application/vnd.apache.parquet'

/** Long enough to start a download. A download that has started may take longer. */
const redirectSeconds = 300

/** The key of an empty object that tests whether the bucket can be written. */
const probe = 'tidemark-can-write-here'

/**
 * Artifacts as objects of a bucket, `ARTIFACT.parquet` below its prefix. Drafts are files of this machine. An object
 * appears only when the upload is complete, and the draft is deleted then.
 */
export function bucketArtifactFiles(
  address: S3Address,
  drafts: ArtifactFiles,
  bucket: Bucket = new Bucket(address),
): ArtifactFiles {
  const keyOf = (artifactId: string): string => {
    // Only an id becomes a key.
    if (!isId('art', artifactId)) throw new Error('not the id of an artifact')
    return artifactId + artifactEnding
  }
  const idOf = (key: string): string | null => {
    const artifactId = key.slice(0, -artifactEnding.length)
    return key.endsWith(artifactEnding) && isId('art', artifactId) ? artifactId : null
  }

  return {
    prepare: () => reaching(() => bucket.putText(probe, '')),

    draftPath: (artifactId) => drafts.draftPath(artifactId),

    async keep({ artifactId, bytes, sha256 }) {
      const path = await drafts.draftPath(artifactId)
      await reaching(() => bucket.put(keyOf(artifactId), { path, bytes, sha256, mediaType }))
      await drafts.remove(artifactId)
    },

    async read(artifact, start, end) {
      if (end < start || end >= artifact.bytes) return null
      const found = await reaching(() => bucket.get(keyOf(artifact.artifactId), { start, end }).catch(nullIfBeyond))
      if (found === null || isSame(found, artifact)) return found?.content ?? null
      found.content.destroy()
      return null
    },

    async addressOf(artifact) {
      const endpoint = address.redirect
      if (endpoint === null) return null
      const key = keyOf(artifact.artifactId)
      return reaching(async () => {
        const found = await bucket.head(key)
        if (found === null || !isSame(found, artifact)) return null
        return bucket.presign(key, { endpoint, seconds: redirectSeconds, fileName: key, mediaType })
      })
    },

    async remove(artifactId) {
      await drafts.remove(artifactId)
      const key = keyOf(artifactId)
      await reaching(async () => {
        await bucket.remove(key)
        await bucket.abortUploads(key)
      })
    },

    async untouchedSince(timeMs) {
      const untouched = new Set(await drafts.untouchedSince(timeMs))
      const touched = new Set<string>()
      const note = (key: string, at: number): void => {
        const artifactId = idOf(key)
        if (artifactId !== null) (at < timeMs ? untouched : touched).add(artifactId)
      }
      await reaching(async () => {
        for await (const { key, changedAt } of bucket.list('art_')) note(key, changedAt)
        for (const { key, touchedAt } of await bucket.unfinished('art_')) note(key, touchedAt)
      })
      return [...untouched.difference(touched)]
    },
  }
}

function isSame(found: KeptObject, { bytes, sha256 }: Pick<Artifact, 'bytes' | 'sha256'>): boolean {
  return found.bytes === bytes && (found.sha256 === null || found.sha256 === sha256)
}

/** Null if the object is shorter than the requested range. */
function nullIfBeyond(error: unknown): null {
  if (error instanceof BucketError && error.status === 416) return null
  throw error
}

/**
 * Reports an unusable bucket as `store_unavailable`. Neither a run nor a download is at fault, so both are retried.
 */
async function reaching<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof BucketError)) throw error
    const message = 'analysis results cannot be reached at the moment: try again later, with exponential backoff'
    throw new TidemarkError('store_unavailable', message, { retryAfterSeconds: 5, cause: error })
  }
}

const advices: Readonly<Record<string, string>> = {
  NoSuchBucket: 'create the bucket, or name another in TIDEMARK_ARTIFACTS_URL',
  AccessDenied: 'allow these credentials to list the bucket, and to read, write and delete objects below the prefix',
  InvalidAccessKeyId: 'set credentials that the server knows (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, or a profile)',
  SignatureDoesNotMatch: 'set the secret that belongs to the access key (AWS_SECRET_ACCESS_KEY)',
  CredentialsProviderError:
    'set credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role of the machine',
  PermanentRedirect: 'name the region of the bucket: ?region=… in TIDEMARK_ARTIFACTS_URL',
}

/** Checks whether the bucket of artifacts can be used. Writes nothing. */
export async function examineBucket(address: S3Address): Promise<Finding> {
  const bucket = new Bucket(address)
  try {
    await bucket.check()
    return ok(`artifacts are kept in ${bucket.name}, which responds`)
  } catch (error) {
    if (!(error instanceof BucketError)) throw error
    const advice = advices[error.reason] ?? 'check the endpoint, the network and the credentials'
    return failure(`artifacts cannot be kept: ${error.message}`, `${advice}; until then analysis runs wait`)
  }
}
