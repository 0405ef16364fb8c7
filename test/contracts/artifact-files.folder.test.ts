import { mkdtempSync, rmSync } from 'node:fs'
import { truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { folderArtifactFiles } from '../../src/storage/files/artifact-files.ts'
import { checkArtifactFiles } from './artifact-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-artifacts-'))
after(() => rmSync(folder, { recursive: true, force: true }))

checkArtifactFiles(
  'folder',
  async () => {
    const files = folderArtifactFiles(join(folder, 'artifacts'))
    return {
      files,
      damage: (artifactId) => truncate(join(folder, 'artifacts', `${artifactId}.parquet`), 100),
      leftByCrash: [async (artifactId) => writeFile(await files.draftPath(artifactId), 'half')],
    }
  },
  100_000,
)
