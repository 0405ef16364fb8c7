import type { Readable } from 'node:stream'
import type { Artifact } from './analysis-store.ts'

/** A file as it was written; `sha256` in hex. */
export type ArtifactFile = Pick<Artifact, 'artifactId' | 'bytes' | 'sha256'>

/**
 * The port: where the files of artifacts are. A file is written on this machine under a name of its own, and only when
 * it is complete is it kept under the artifact's name; so a kept file is always whole.
 */
export interface ArtifactFiles {
  /** Throws where nothing could be kept at the moment: before hours of computing. */
  prepare(): Promise<void>
  /** Where the file of a new artifact is to be written. */
  draftPath(artifactId: string): Promise<string>
  /** Keeps the draft for good; it survives a power failure when this resolves. */
  keep(artifact: ArtifactFile): Promise<void>
  /** The bytes from `start` up to and including `end`; null where there is no file of that size. */
  read(artifact: ArtifactFile, start: number, end: number): Promise<Readable | null>
  /** Where whoever has the address can fetch all of the file for some minutes; null where `read` is the way. */
  addressOf(artifact: ArtifactFile): Promise<string | null>
  /** Removes file and draft; neither need exist. */
  remove(artifactId: string): Promise<void>
  /** Artifacts with a file or a draft that nobody has written to since the time. */
  untouchedSince(timeMs: number): Promise<readonly string[]>
}
