import type { Artifact, Run } from './analysis-types.ts'

/** What shows a result is given: the run, and the file of it that it reads. */
export interface ResultProps {
  readonly run: Run
  readonly artifact: Artifact
}
