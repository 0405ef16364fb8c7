import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import type {
  Algorithm,
  ArtifactForms,
  InputDocument,
  InputPortion,
  OutputTables,
  Series,
} from '../../src/analysis/algorithm.ts'
import { TableFile, type WrittenFile } from '../../src/analysis/compute/table-file.ts'

/** One row of an input. Its position determines its IDs. */
export interface GivenRow {
  readonly vector?: readonly number[] | Float32Array
  readonly text?: string
  readonly document?: InputDocument
}

interface ReadTable extends Omit<WrittenFile, 'rows'> {
  readonly rows: Record<string, unknown>[]
  readonly file: Uint8Array
}

/** A document without any metadata. */
export const bareDocument: InputDocument = {
  datasetId: 'news',
  platform: 'rss',
  language: null,
  region: null,
  contentType: null,
  publishedAt: null,
  title: null,
  authorId: null,
  topics: [],
  tags: [],
  classifications: [],
  score: null,
  metrics: {},
}

export const idAt = (prefix: string, position: number): string => `${prefix}_${String(position).padStart(6, '0')}`

/** Executes an algorithm in this process, without a store. Returns the content of the files that it wrote. */
export async function executeHere<Parameters, Artifacts extends ArtifactForms>(
  algorithm: Algorithm<Parameters, Artifacts>,
  rows: readonly GivenRow[],
  parameters: Parameters,
  { threads = 1, series = null }: { readonly threads?: number; readonly series?: Series | null } = {},
): Promise<{ tables: Readonly<Record<string, ReadTable>>; progress: readonly number[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-execute-'))
  try {
    const paths = Object.entries(algorithm.artifacts)
      .filter(([, { ofSeries }]) => series !== null || ofSeries === undefined)
      .map(([name]) => [name, join(folder, name)] as const)
    const files = paths.map(([name, path]) => [name, new TableFile(path, algorithm.artifacts[name]!.columns)] as const)
    const dimensions = rows[0]?.vector?.length ?? 0
    const progress: number[] = []
    await algorithm.execute(
      { rowsMax: rows.length, dimensions, series, portions: portionsOf(rows, dimensions, algorithm.needsVectors) },
      parameters,
      Object.fromEntries(files) as unknown as OutputTables<Artifacts>,
      {
        threads,
        progress: async (done) => {
          progress.push(done)
        },
      },
    )
    const tables: Record<string, ReadTable> = {}
    for (const [name, file] of files) {
      const written = file.finish()
      const bytes = readFileSync(join(folder, name))
      const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
      tables[name] = { ...written, file: bytes, rows: await parquetReadObjects({ file: buffer, compressors }) }
    }
    return { tables, progress }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const portion = 7

async function* portionsOf(
  rows: readonly GivenRow[],
  dimensions: number,
  areChunks: boolean,
): AsyncGenerator<InputPortion> {
  for (let start = 0; start < rows.length; start += portion) {
    const some = rows.slice(start, start + portion)
    const ids = (prefix: string) => some.map((_, i) => idAt(prefix, start + i))
    const vectors = new Float32Array(some.length * dimensions)
    for (const [i, { vector = [] }] of some.entries()) vectors.set(vector, i * dimensions)
    yield {
      chunkIds: areChunks ? ids('chk') : [],
      documentIds: ids('doc'),
      versionIds: ids('ver'),
      vectors,
      texts: some.flatMap(({ text }) => text ?? []),
      documents: some.flatMap(({ document }) => document ?? []),
    }
  }
}
