import type { Readable } from 'node:stream'
import type { Artifact } from './analysis-store.ts'

/** A complete file; `sha256` in hex. */
export type ArtifactFile = Pick<Artifact, 'artifactId' | 'bytes' | 'sha256'>

/**
 * The port: storage of artifact files. A file is written locally under a draft name, and stored under the artifact's
 * name only when it is complete. So a stored file is always whole.
 */
export interface ArtifactFiles {
  /** Throws if nothing could be stored at the moment, before hours of computing. */
  prepare(): Promise<void>
  /** Where to write the file of a new artifact. */
  draftPath(artifactId: string): Promise<string>
  /** Stores the draft. Once this resolves, the file survives a power failure. */
  keep(artifact: ArtifactFile): Promise<void>
  /** The bytes from `start` to `end`, inclusive; null if there is no file of that size. */
  read(artifact: ArtifactFile, start: number, end: number): Promise<Readable | null>
  /** An address that serves the whole file for some minutes to anyone who has it; null if only `read` works. */
  addressOf(artifact: ArtifactFile): Promise<string | null>
  /** Removes file and draft, if they exist. */
  remove(artifactId: string): Promise<void>
  /** Artifacts whose file or draft was last written before the time. */
  untouchedSince(timeMs: number): Promise<readonly string[]>
}
