import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'

/** Of the S3 server that tests may use; null where there is none. */
export const s3Endpoint: string | null = process.env.TEST_S3_ENDPOINT ?? null

export const withoutS3 =
  'TEST_S3_ENDPOINT is not set: where there is python3 with pip, "npm run with-s3 -- npm test" makes a server for it'

/** What the library takes to speak to it. */
export const s3Options = () => ({ endpoint: s3Endpoint!, region: 'us-east-1', forcePathStyle: true })

/** A new bucket, by its name. */
export async function freshBucket(): Promise<string> {
  const bucket = `test-${crypto.randomUUID()}`
  const client = new S3Client(s3Options())
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  client.destroy()
  return bucket
}

export const addressOf = (place: string, more = ''): string => `s3://${place}?endpoint=${s3Endpoint}${more}`
