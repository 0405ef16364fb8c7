import type { Static } from 'typebox'
import { type Columns, type Rows, TableBytes } from '../analysis/compute/table-file.ts'
import type { Document } from '../catalog/answers.ts'
import type { Content } from '../catalog/document-routes.ts'
import type { ExportProgress, ExportStep } from './read-export.ts'

/** A page of an export as a Parquet file: a row for each line. */
const columns = {
  type: 'text',
  id: 'text',
  dataset_id: 'textOrNull',
  source_platform: 'textOrNull',
  external_id: 'textOrNull',
  url: 'textOrNull',
  title: 'textOrNull',
  content_type: 'textOrNull',
  language: 'textOrNull',
  region: 'textOrNull',
  status: 'textOrNull',
  current_version_id: 'textOrNull',
  published_at: 'timeOrNull',
  created_at: 'timeOrNull',
  observed_at: 'timeOrNull',
  author: 'textOrNull',
  topics: 'texts',
  tags: 'texts',
  classifications: 'texts',
  score: 'doubleOrNull',
  version_id: 'textOrNull',
  version_title: 'textOrNull',
  version_body: 'longTextOrNull',
  version_language: 'textOrNull',
  version_published_at: 'timeOrNull',
  version_created_at: 'timeOrNull',
} as const satisfies Columns

type Line =
  | {
      readonly type: 'document'
      readonly document: Static<typeof Document>
      readonly content: Static<typeof Content> | null
    }
  | { readonly type: 'version'; readonly document?: undefined; readonly content: Static<typeof Content> }

export interface ParquetPage {
  readonly bytes: Uint8Array
  readonly progress: ExportProgress
  readonly atEnd: boolean
}

/** Row group by row group, so that no other request waits long. Ends early with the step that makes `lineBytesMax` full. */
export async function parquetPage(steps: AsyncGenerator<ExportStep>, lineBytesMax: number): Promise<ParquetPage> {
  const table = new TableBytes(columns)
  let bytes = 0
  let last: ExportStep | null = null
  for await (const step of steps) {
    last = step
    bytes += step.lines.length
    if (step.lines.length > 0) table.write(rowsOf(linesIn(step.lines)))
    if (bytes >= lineBytesMax) break
  }
  return { bytes: table.finish(), progress: last!.progress, atEnd: last!.atEnd }
}

const linesIn = (lines: Uint8Array): Line[] =>
  Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength)
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

function rowsOf(lines: readonly Line[]): Rows<typeof columns> {
  const ofDocument = <Name extends keyof Static<typeof Document>>(name: Name) =>
    lines.map(({ document }) => document?.[name] ?? null)
  const ofContent = <Name extends keyof Static<typeof Content>>(name: Name) =>
    lines.map(({ content }) => content?.[name] ?? null)
  const listOf = (name: 'topics' | 'tags' | 'classifications') => lines.map(({ document }) => document?.[name] ?? [])
  const times = (texts: readonly (string | null)[]) => texts.map((text) => text && new Date(text)) as (Date | null)[]
  return {
    type: lines.map(({ type }) => type),
    id: lines.map(({ document, content }) => document?.id ?? content!.document_id),
    dataset_id: ofDocument('dataset_id'),
    source_platform: ofDocument('source_platform'),
    external_id: ofDocument('external_id'),
    url: ofDocument('url'),
    title: ofDocument('title'),
    content_type: ofDocument('content_type'),
    language: ofDocument('language'),
    region: ofDocument('region'),
    status: ofDocument('status'),
    current_version_id: ofDocument('current_version_id'),
    published_at: times(ofDocument('published_at')),
    created_at: times(ofDocument('created_at')),
    observed_at: times(ofDocument('observed_at')),
    author: ofDocument('author').map((author) => author && JSON.stringify(author)),
    topics: listOf('topics'),
    tags: listOf('tags'),
    classifications: listOf('classifications'),
    score: ofDocument('score'),
    version_id: ofContent('version_id'),
    version_title: ofContent('title'),
    version_body: ofContent('body'),
    version_language: ofContent('language'),
    version_published_at: times(ofContent('published_at')),
    version_created_at: times(ofContent('created_at')),
  }
}
