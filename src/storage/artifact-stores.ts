import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ArtifactFiles } from '../analysis/artifact-files.ts'
import { type Finding, failure, ok } from '../operator/examine.ts'
import { artifactFolder } from '../platform/data-folder.ts'
import type { Config } from '../settings/config.ts'
import { parseS3Address } from '../settings/s3-address.ts'
import { folderArtifactFiles } from './files/artifact-files.ts'
import { folderTrouble } from './files/examine-folder.ts'
import { bucketArtifactFiles, examineBucket } from './s3/artifact-objects.ts'

type ArtifactSettings = Pick<Config, 'artifactsUrl' | 'dataDir'>

/** The folder or bucket of artifacts according to the settings. No other code chooses it. */
export function artifactFilesOf({ artifactsUrl, dataDir }: ArtifactSettings): ArtifactFiles {
  const bucket = bucketOf(artifactsUrl)
  if (bucket === null) return folderArtifactFiles(folderOf({ artifactsUrl, dataDir }))
  return bucketArtifactFiles(bucket, folderArtifactFiles(folderOf({ artifactsUrl: null, dataDir })))
}

const bucketOf = (url: string | null) => (url === null ? null : parseS3Address(url))

const folderOf = ({ artifactsUrl, dataDir }: ArtifactSettings): string =>
  artifactsUrl === null ? join(dataDir, artifactFolder) : fileURLToPath(artifactsUrl)

/** Checks the folder or bucket of artifacts. Writes nothing. */
export async function examineArtifacts(settings: ArtifactSettings): Promise<readonly Finding[]> {
  const bucket = bucketOf(settings.artifactsUrl)
  if (bucket !== null) return [await examineBucket(bucket)]
  const folder = folderOf(settings)
  const trouble = await folderTrouble(folder)
  if (trouble !== null) {
    return [
      failure(`artifacts cannot be kept in ${folder}: ${trouble.about}`, `${trouble.advice}; until then runs fail`),
    ]
  }
  return settings.artifactsUrl === null ? [] : [ok(`artifacts are kept in ${folder}, which can be written`)]
}

/**
 * The reason why a process that has just started cannot keep artifacts, without a path; null if there is none. A bucket
 * is not checked, because it may come back later.
 */
export async function artifactTrouble(settings: ArtifactSettings): Promise<string | null> {
  if (bucketOf(settings.artifactsUrl) !== null) return null
  const trouble = await folderTrouble(folderOf(settings))
  return trouble === null ? null : `artifacts cannot be kept: ${trouble.about}; ${trouble.advice}`
}
