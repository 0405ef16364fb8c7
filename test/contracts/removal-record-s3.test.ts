import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removalFolder } from '../../src/operator/removal-record.ts'
import { newId } from '../../src/platform/ids.ts'
import { parseS3Address } from '../../src/settings/s3-address.ts'
import { removalRecordOf } from '../../src/storage/removal-records.ts'
import { Bucket, BucketError } from '../../src/storage/s3/bucket.ts'
import { addressOf, freshBucket, s3Endpoint, withoutS3 } from '../support/s3-server.ts'
import { checkRemovalRecord } from './removal-record.ts'

if (s3Endpoint === null) test('record of removals: S3', { skip: withoutS3 }, () => {})
else {
  checkRemovalRecord('S3', async () => {
    const artifactsUrl = addressOf(`${await freshBucket()}/some/place`)
    const recordOf = (instance: string) => removalRecordOf({ artifactsUrl, dataDir: '/nowhere' }, instance)
    const instance = newId('aud')
    const bucket = new Bucket(parseS3Address(artifactsUrl)!)
    return {
      record: recordOf(instance),
      other: recordOf(newId('aud')),
      leave: (name) => bucket.putText(`${removalFolder}/${instance}/${name}`, 'half'),
    }
  })

  test('record of removals: a bucket that is away is told', async () => {
    const record = removalRecordOf(
      { artifactsUrl: 's3://bucket?endpoint=http://127.0.0.1:9', dataDir: '/nowhere' },
      newId('aud'),
    )
    await assert.rejects(record.names(), BucketError)
  })
}
