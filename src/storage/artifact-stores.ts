import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ArtifactFiles } from '../analysis/artifact-files.ts'
import type { Config } from '../config.ts'
import { artifactFolder } from '../data-folder.ts'
import { folderArtifactFiles } from './files/artifact-files.ts'

/** Where the settings keep artifacts. Here it is chosen, and nowhere else; there are folders so far. */
export function artifactFilesOf({ artifactsUrl, dataDir }: Pick<Config, 'artifactsUrl' | 'dataDir'>): ArtifactFiles {
  return folderArtifactFiles(artifactsUrl === null ? join(dataDir, artifactFolder) : fileURLToPath(artifactsUrl))
}
