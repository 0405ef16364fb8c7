import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'

/** The address of the S3 server for tests; null if there is none. */
export const s3Endpoint: string | null = process.env.TEST_S3_ENDPOINT ?? null

export const withoutS3 =
  'TEST_S3_ENDPOINT is not set: with python3 and pip, "npm run with-s3 -- npm test" starts a server'

/** Returns the client options for this server. */
export const s3Options = () => ({ endpoint: s3Endpoint!, region: 'us-east-1', forcePathStyle: true })

/** Creates a bucket and returns its name. */
export async function freshBucket(): Promise<string> {
  const bucket = `test-${crypto.randomUUID()}`
  const client = new S3Client(s3Options())
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  client.destroy()
  return bucket
}

export const addressOf = (bucket: string, more = ''): string => `s3://${bucket}?endpoint=${s3Endpoint}${more}`
