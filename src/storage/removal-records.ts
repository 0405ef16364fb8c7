import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type RemovalRecord, removalFolder } from '../operator/removal-record.ts'
import { artifactFolder } from '../platform/data-folder.ts'
import { isId } from '../platform/ids.ts'
import type { Config } from '../settings/config.ts'
import { parseS3Address } from '../settings/s3-address.ts'
import { folderOfRemovals } from './files/removal-folder.ts'
import { bucketOfRemovals } from './s3/removal-objects.ts'

type RecordSettings = Pick<Config, 'artifactsUrl' | 'dataDir'>

/**
 * The record of removals of an instance, kept below the folder or bucket of its artifacts. No other code chooses it.
 */
export function removalRecordOf({ artifactsUrl, dataDir }: RecordSettings, instance: string): RemovalRecord {
  if (!isId('aud', instance)) throw new Error('not the id of an instance')
  const inFolder = (folder: string) => folderOfRemovals(join(folder, removalFolder, instance))
  if (artifactsUrl === null) return inFolder(join(dataDir, artifactFolder))
  const bucket = parseS3Address(artifactsUrl)
  if (bucket === null) return inFolder(fileURLToPath(artifactsUrl))
  const prefix = [bucket.prefix, removalFolder, instance].filter((part) => part !== '').join('/')
  return bucketOfRemovals({ ...bucket, prefix })
}
