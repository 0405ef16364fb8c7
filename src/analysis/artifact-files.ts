import type { Readable } from 'node:stream'
import type { Artifact } from './analysis-store.ts'

/** A complete file. */
export type ArtifactFile = Pick<Artifact, 'artifactId' | 'bytes' | 'sha256'>

/**
 * The port: storage of artifact files. A file is written locally under a draft name, and stored under the artifact's
 * name only when it is complete. So a stored file is always complete.
 */
export interface ArtifactFiles {
  /** Throws if nothing can be stored at the moment, so that no run computes for hours in vain. */
  prepare(): Promise<void>
  /** Returns where to write the file of a new artifact. */
  draftPath(artifactId: string): Promise<string>
  /** Stores the draft. Once this resolves, the file survives a power failure. */
  keep(artifact: ArtifactFile): Promise<void>
  /** Returns the bytes from `start` to `end`, inclusive; null if there is no file of that size. */
  read(artifact: ArtifactFile, start: number, end: number): Promise<Readable | null>
  /** Returns a URL that serves the whole file for some minutes to anyone who has it; null if only `read` works. */
  addressOf(artifact: ArtifactFile): Promise<string | null>
  /** Removes the file and the draft, if they exist. */
  remove(artifactId: string): Promise<void>
  /** Returns the artifacts whose file or draft was last written before the time. */
  untouchedSince(timeMs: number): Promise<readonly string[]>
}
