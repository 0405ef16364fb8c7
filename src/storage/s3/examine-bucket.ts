import { type Finding, failure, ok } from '../../operator/examine.ts'
import type { S3Address } from '../../s3-address.ts'
import { Bucket, BucketTrouble } from './bucket.ts'

const advices: Readonly<Record<string, string>> = {
  NoSuchBucket: 'make the bucket, or name another in TIDEMARK_ARTIFACTS_URL',
  AccessDenied: 'let these credentials list the bucket, and read, write and delete what is below the prefix',
  InvalidAccessKeyId: 'set credentials that the server knows (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, or a profile)',
  SignatureDoesNotMatch: 'set the secret that belongs to the access key (AWS_SECRET_ACCESS_KEY)',
  CredentialsProviderError:
    'give it credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role of the machine',
  PermanentRedirect: 'name the region of the bucket: ?region=… in TIDEMARK_ARTIFACTS_URL',
}

/** Whether the bucket of artifacts can be used. Writes nothing. */
export async function examineBucket(address: S3Address): Promise<Finding> {
  const bucket = new Bucket(address)
  try {
    await bucket.look()
    return ok(`artifacts are kept in ${bucket.name}, which answers`)
  } catch (error) {
    if (!(error instanceof BucketTrouble)) throw error
    const advice = advices[error.reason] ?? 'see that the endpoint, the network and the credentials are right'
    return failure(`artifacts cannot be kept: ${error.message}`, `${advice}; until then analysis runs wait`)
  }
}
