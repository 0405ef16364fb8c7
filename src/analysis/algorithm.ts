import type { TProperties } from 'typebox'
import type { Columns, TableFile } from './compute/table-file.ts'

/**
 * One type of analysis: what a request may say, what it works on, which files come of it, and how. It knows nothing of
 * the store, of the web, or of the process that it runs in.
 */
export interface Algorithm<Parameters = KeptParameters, Artifacts extends ArtifactForms = ArtifactForms> {
  /** What it computes, for the description of the API. */
  readonly description: string
  /** Each with its bounds, and with its default where it has one. A request that says anything else is refused. */
  readonly parameters: TProperties
  /** Then a request names a profile, and the input is the chunks with a vector of that. */
  readonly needsVectors: boolean
  /** What it writes, by name: all of it, by every run. */
  readonly artifacts: Artifacts
  /**
   * Runs in a process of its own and at low priority. To cancel it the process is killed, so it need not look whether
   * it still should. The same input gives the same bytes, whatever the number of threads. Gives numbers for the log.
   */
  execute(
    input: AlgorithmInput,
    parameters: Parameters,
    output: OutputTables<Artifacts>,
    running: Running,
  ): Promise<Readonly<Record<string, number>>>
}

/** The parameters of a run as they are stored and given back: all of them, null where one was left out. */
export type KeptParameters = Readonly<Record<string, unknown>>

export type ArtifactForms = Readonly<Record<string, ArtifactForm>>

export interface ArtifactForm {
  /** Its columns and the order of its rows, for the description of the API. */
  readonly description: string
  readonly columns: Columns
}

export type OutputTables<Artifacts extends ArtifactForms> = {
  readonly [Name in keyof Artifacts]: TableFile<Artifacts[Name]['columns']>
}

export interface AlgorithmInput {
  /** How many chunks come at the most. */
  readonly chunksMax: number
  /** Of each vector; 0 without vectors. */
  readonly dimensions: number
  /** To be read once, to the end. */
  readonly portions: AsyncIterable<InputPortion>
}

/** Some chunks, in ascending order of their ids over all portions, column by column. */
export interface InputPortion {
  readonly chunkIds: readonly string[]
  readonly documentIds: readonly string[]
  readonly versionIds: readonly string[]
  /** One after the other; none without vectors. */
  readonly vectors: Float32Array
}

export interface Running {
  /** That it may use. */
  readonly threads: number
  /**
   * Takes the share that is done, from 0 to 1. To be awaited, so that the end of the server is noticed in between, and
   * every few seconds: a process of which nothing is heard for minutes is taken to hang.
   */
  readonly progress: (done: number) => Promise<void>
}
