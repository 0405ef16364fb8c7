import type { TProperties } from 'typebox'
import type { FieldPermission } from '../access/scope.ts'
import type { Columns, TableFile } from './compute/table-file.ts'

/**
 * A type of analysis: its input, its result files and its computation. It does not depend on the store, on HTTP, or on
 * the process that it runs in.
 */
export interface Algorithm<Parameters = KeptParameters, Artifacts extends ArtifactForms = ArtifactForms> {
  /** The result, for the description of the API. */
  readonly description: string
  /** The parameters of a request, each with its bounds and, if it has one, its default. */
  readonly parameters: TProperties
  /**
   * If true, a request names a profile, and the input rows are the chunks that have a vector of that profile. Otherwise
   * the rows are the documents themselves, with or without a text.
   */
  readonly needsVectors: boolean
  /** The fields of each row that it reads, apart from ids and vector. */
  readonly reads: readonly InputColumn[]
  /** The permissions that its input needs with these parameters. Any one member satisfies a group. */
  needs(parameters: Parameters): readonly (readonly FieldPermission[])[]
  /** The artifacts that it writes, by name. Every run writes all of them, except those that only a series has. */
  readonly artifacts: Artifacts
  /** The artifact of the previous run that it reads in a series. */
  readonly follows?: string
  /**
   * Runs in a process of its own at low priority. A cancel kills the process, so it need not check for one. The same
   * input gives the same bytes with any number of threads. Returns numbers for the log. Throws `inputTooLarge` if the
   * request turns out to be too large for this input.
   */
  execute(
    input: AlgorithmInput,
    parameters: Parameters,
    output: OutputTables<Artifacts>,
    running: Running,
  ): Promise<Readonly<Record<string, number>>>
}

/** The parameters of a run as they are stored and returned: all of them, with null for one that has no value. */
export type KeptParameters = Readonly<Record<string, unknown>>

export type ArtifactForms = Readonly<Record<string, ArtifactForm>>

export interface ArtifactForm {
  /** Its columns and row order, for the description of the API. */
  readonly description: string
  /** Null if they depend on parameters and input. The algorithm then sets them before the first row. */
  readonly columns: Columns | null
  /** Written only by runs of a series. */
  readonly ofSeries?: true
}

export type OutputTables<Artifacts extends ArtifactForms> = {
  readonly [Name in keyof Artifacts]:
    | TableFile<Artifacts[Name]['columns'] extends Columns ? Artifacts[Name]['columns'] : Columns>
    | (Artifacts[Name] extends { readonly ofSeries: true } ? undefined : never)
}

/** The position of a run in a series of runs with the same scope. */
export interface Series {
  readonly runId: string
  /** Increases by one with each run of the series. */
  readonly turn: number
  readonly cutoffAt: number
  /** The artifact of the previous run that `follows` names; null if there is none, or it is gone. */
  readonly before: Uint8Array | null
}

export interface AlgorithmInput {
  /** The maximum number of rows. */
  readonly rowsMax: number
  /** The dimensions of each vector; 0 without vectors. */
  readonly dimensions: number
  /** Null for a single run. */
  readonly series: Series | null
  /** Can be read once, to the end. */
  readonly portions: AsyncIterable<InputPortion>
}

export type InputColumn = 'texts' | 'documents'

/** A batch of rows, column by column. Ids ascend over all portions. */
export interface InputPortion {
  /** Empty if the rows are documents. */
  readonly chunkIds: readonly string[]
  readonly documentIds: readonly string[]
  readonly versionIds: readonly string[]
  /** One after the other; empty without vectors. */
  readonly vectors: Float32Array
  /** The texts of the chunks; empty if the algorithm does not read them. */
  readonly texts: readonly string[]
  /** The document of each row, which rows may share; empty if the algorithm does not read it. */
  readonly documents: readonly InputDocument[]
}

/**
 * A document as the application may read it: a field that it may not read is null or empty. The title is that of the
 * version. Score and metrics are from the latest snapshot at the cut-off. Other fields are current when the run
 * executes.
 */
export interface InputDocument {
  readonly datasetId: string
  readonly platform: string
  readonly language: string | null
  readonly region: string | null
  readonly contentType: string | null
  readonly publishedAt: number | null
  readonly title: string | null
  readonly authorId: string | null
  readonly topics: readonly string[]
  readonly tags: readonly string[]
  readonly classifications: readonly string[]
  readonly score: number | null
  readonly metrics: Readonly<Record<string, number>>
}

export interface Running {
  /** The threads that it may use. */
  readonly threads: number
  /**
   * Takes the completed share, from 0 to 1. Await it, so that the process can notice the end of the server. Call it
   * every few seconds, because a process that is silent for minutes counts as hung.
   */
  readonly progress: (done: number) => Promise<void>
}

const tooLarge = 'input_too_large'

/** Ends the run as failed, with this message for the caller. */
export const inputTooLarge = (message: string): Error => Object.assign(new Error(message), { code: tooLarge })

export const isInputTooLarge = (error: unknown): error is Error & { readonly code: typeof tooLarge } =>
  (error as { readonly code?: unknown } | null)?.code === tooLarge
