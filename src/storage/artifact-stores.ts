import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ArtifactFiles } from '../analysis/artifact-files.ts'
import type { Config } from '../config.ts'
import { artifactFolder } from '../data-folder.ts'
import type { Finding } from '../operator/examine.ts'
import { parseS3Address } from '../s3-address.ts'
import { folderArtifactFiles } from './files/artifact-files.ts'
import { bucketArtifactFiles } from './s3/artifact-objects.ts'
import { examineBucket } from './s3/examine-bucket.ts'

type ArtifactSettings = Pick<Config, 'artifactsUrl' | 'dataDir'>

/** Where the settings keep artifacts: a folder, or a bucket. Here it is chosen, and nowhere else. */
export function artifactFilesOf({ artifactsUrl, dataDir }: ArtifactSettings): ArtifactFiles {
  const here = folderArtifactFiles(join(dataDir, artifactFolder))
  if (artifactsUrl === null) return here
  const bucket = parseS3Address(artifactsUrl)
  return bucket === null ? folderArtifactFiles(fileURLToPath(artifactsUrl)) : bucketArtifactFiles(bucket, here)
}

/** What is to be said of a place outside the data folder. Only looks. */
export async function examineArtifacts({ artifactsUrl }: ArtifactSettings): Promise<readonly Finding[]> {
  const bucket = artifactsUrl === null ? null : parseS3Address(artifactsUrl)
  return bucket === null ? [] : [await examineBucket(bucket)]
}
