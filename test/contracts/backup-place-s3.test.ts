import { after, test } from 'node:test'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { backupName } from '../../src/operator/backup-manifest.ts'
import { parseS3Address } from '../../src/settings/s3-address.ts'
import { bucketOfBackups } from '../../src/storage/s3/backup-bucket.ts'
import { Bucket } from '../../src/storage/s3/bucket.ts'
import { addressOf, freshBucket, s3Endpoint, s3Options, withoutS3 } from '../support/s3-server.ts'
import { checkBackupPlace } from './backup-place.ts'

if (s3Endpoint === null) test('backup place: S3', { skip: withoutS3 }, () => {})
else {
  const client = new S3Client(s3Options())
  after(() => client.destroy())
  checkBackupPlace('S3', async () => {
    const name = await freshBucket()
    const address = parseS3Address(addressOf(`${name}/of/tidemark`))!
    return {
      place: bucketOfBackups(address),
      async leaveHalf(madeAt) {
        const Key = `of/tidemark/${backupName(madeAt)}/tidemark.sqlite`
        await client.send(new PutObjectCommand({ Bucket: name, Key, Body: 'half' }))
      },
      async hasAnything(madeAt) {
        for await (const _ of new Bucket(address).list(backupName(madeAt))) return true
        return false
      },
    }
  })
}
