import { constants, createReadStream } from 'node:fs'
import { lstat, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArtifactFiles } from '../../analysis/artifact-files.ts'
import { artifactEnding as kept } from '../../platform/data-folder.ts'
import { makeFolder } from '../../platform/folders.ts'
import { isId } from '../../platform/ids.ts'

const draft = '.partial'

/** Follows no link, and does not block on a pipe. */
const fileItself = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Artifacts as files of one folder: `ARTIFACT.partial` while one is written, `ARTIFACT.parquet` when it is complete.
 */
export function folderArtifactFiles(folder: string): ArtifactFiles {
  const pathOf = (artifactId: string, ending: string): string => {
    // Only an id becomes a path.
    if (!isId('art', artifactId)) throw new Error('not the id of an artifact')
    return join(folder, artifactId + ending)
  }

  return {
    prepare: () => makeFolder(folder),

    async draftPath(artifactId) {
      await makeFolder(folder)
      return pathOf(artifactId, draft)
    },

    async keep({ artifactId }) {
      await rename(pathOf(artifactId, draft), pathOf(artifactId, kept))
      // The name is an entry of the folder, so it is on disk only after the folder is synced.
      const handle = await open(folder)
      try {
        await handle.sync()
      } finally {
        await handle.close()
      }
    },

    async read({ artifactId, bytes }, start, end) {
      const handle = await open(pathOf(artifactId, kept), fileItself).catch(nullIfMissing)
      if (handle === null) return null
      const found = await handle.stat()
      // A stream cannot express an empty range.
      if (!found.isFile() || found.size !== bytes || end < start) {
        await handle.close()
        return null
      }
      return createReadStream('', { fd: handle, start, end })
    },

    async addressOf() {
      return null
    },

    async remove(artifactId) {
      for (const ending of [draft, kept]) await rm(pathOf(artifactId, ending), { force: true })
    },

    async untouchedSince(timeMs) {
      const names = (await readdir(folder).catch(nullIfMissing)) ?? []
      const found = new Set<string>()
      for (const name of names) {
        const artifactId = name.slice(0, name.lastIndexOf('.'))
        if (!isId('art', artifactId) || !(name.endsWith(kept) || name.endsWith(draft))) continue
        const file = await lstat(join(folder, name)).catch(nullIfMissing)
        if (file !== null && file.mtimeMs < timeMs) found.add(artifactId)
      }
      return [...found]
    },
  }
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  // A link, which is not followed, counts as a missing file.
  if (error.code === 'ENOENT' || error.code === 'ELOOP') return null
  throw error
}
