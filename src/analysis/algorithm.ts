import type { FieldPermission } from '../access/scope.ts'
import type { Columns, TableFile } from './compute/table-file.ts'

/**
 * One type of analysis: what it works on, which files come of it, and how. What a request of it may say is in
 * `algorithm-parameters.ts`. It knows nothing of the store, of the web, or of the process that it runs in.
 */
export interface Algorithm<Parameters = KeptParameters, Artifacts extends ArtifactForms = ArtifactForms> {
  /** What it computes, for the description of the API. */
  readonly description: string
  /**
   * Then a request names a profile, and the rows of the input are the chunks with a vector of that. Otherwise they are
   * the documents themselves, whether they have a text or not.
   */
  readonly needsVectors: boolean
  /** What it reads of each row beside ids and vector. */
  readonly reads: readonly InputColumn[]
  /** The permissions that its input must have with these parameters: each group is satisfied by any one of its members. */
  needs(parameters: Parameters): readonly (readonly FieldPermission[])[]
  /** What it writes, by name: all of it, by every run, but for what is only of a series. */
  readonly artifacts: Artifacts
  /** Which artifact of the run before, in a series, it reads. */
  readonly follows?: string
  /**
   * Runs in a process of its own and at low priority. To cancel it the process is killed, so it need not look whether
   * it still should. The same input gives the same bytes, whatever the number of threads. Gives numbers for the log.
   * What is wrong with the request, as only the input shows, is thrown as `inputTooLarge`.
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
  /** Null where they follow from parameters and input: then the algorithm says them before the first row. */
  readonly columns: Columns | null
  /** Written by runs of a series alone. */
  readonly ofSeries?: true
}

export type OutputTables<Artifacts extends ArtifactForms> = {
  readonly [Name in keyof Artifacts]:
    | TableFile<Artifacts[Name]['columns'] extends Columns ? Artifacts[Name]['columns'] : Columns>
    | (Artifacts[Name] extends { readonly ofSeries: true } ? undefined : never)
}

/** Where a run stands that is one of several of the same scope, one after the other. */
export interface Series {
  readonly runId: string
  /** One more for each run of the series. */
  readonly turn: number
  readonly cutoffAt: number
  /** The file of what it follows, of the run before; null where there is none, or none any more. */
  readonly before: Uint8Array | null
}

export interface AlgorithmInput {
  /** How many rows come at the most. */
  readonly rowsMax: number
  /** Of each vector; 0 without vectors. */
  readonly dimensions: number
  /** Null for a run that stands alone. */
  readonly series: Series | null
  /** To be read once, to the end. */
  readonly portions: AsyncIterable<InputPortion>
}

export type InputColumn = 'texts' | 'documents'

/** Some rows, in ascending order of their ids over all portions, column by column. */
export interface InputPortion {
  /** None where the rows are documents. */
  readonly chunkIds: readonly string[]
  readonly documentIds: readonly string[]
  readonly versionIds: readonly string[]
  /** One after the other; none without vectors. */
  readonly vectors: Float32Array
  /** Of the chunks; none where the algorithm does not read them. */
  readonly texts: readonly string[]
  /** What each row's document is, or the same object for several rows; none where the algorithm does not read it. */
  readonly documents: readonly InputDocument[]
}

/**
 * A document as the application may read it: what it may not is null or empty. The title is that of the version; score
 * and metrics are of the latest snapshot at the cut-off; the rest is as it stands when the run is executed.
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
  /** That it may use. */
  readonly threads: number
  /**
   * Takes the share that is done, from 0 to 1. To be awaited, so that the end of the server is noticed in between, and
   * every few seconds: a process of which nothing is heard for minutes is taken to hang.
   */
  readonly progress: (done: number) => Promise<void>
}

const tooLarge = 'input_too_large'

/** Ends the run for good, with this message to whoever asked for it. */
export const inputTooLarge = (message: string): Error => Object.assign(new Error(message), { code: tooLarge })

export const isInputTooLarge = (error: unknown): error is Error & { readonly code: typeof tooLarge } =>
  (error as { readonly code?: unknown } | null)?.code === tooLarge
