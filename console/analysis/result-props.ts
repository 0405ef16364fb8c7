import type { Artifact, Run } from './analysis-types.ts'

/** The properties of a component that shows a result: the run, and the file to read. */
export interface ResultProps {
  readonly run: Run
  readonly artifact: Artifact
}
