import type { Static } from 'typebox'
import { type Columns, type Rows, TableBytes } from '../analysis/compute/table-file.ts'
import type { Document } from '../catalog/answers.ts'
import type { Content } from '../catalog/document-routes.ts'
import type { FieldKind } from '../document/fields.ts'
import { answerRows, type FieldRow } from '../document/rows.ts'
import type { ExportProgress, ExportStep } from './read-export.ts'

/** The type of a column by the kind of its field. */
const kinds = {
  text: 'textOrNull',
  status: 'textOrNull',
  time: 'timeOrNull',
  integer: 'doubleOrNull',
  number: 'doubleOrNull',
  texts: 'texts',
  author: 'textOrNull',
  object: 'textOrNull',
  numbers: 'textOrNull',
  facts: 'textOrNull',
} as const satisfies Readonly<Record<FieldKind, Columns[string]>>

/** Every line has an ID. A line of an earlier version has no other field of its document. */
const documentRows = answerRows.filter(({ name }) => name !== 'id')

/** The columns of an export page in Parquet. Each line is a row. */
const columns: Columns = {
  type: 'text',
  id: 'text',
  ...Object.fromEntries(documentRows.map(({ name, kind }) => [name, kinds[kind]])),
  version_id: 'textOrNull',
  version_title: 'textOrNull',
  version_body: 'longTextOrNull',
  version_language: 'textOrNull',
  version_published_at: 'timeOrNull',
  version_created_at: 'timeOrNull',
}

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

/**
 * Writes a Parquet file in memory, one row group at a time, so that no other request waits long. Stops after the step
 * that reaches `lineBytesMax`.
 */
export async function parquetPage(steps: AsyncGenerator<ExportStep>, lineBytesMax: number): Promise<ParquetPage> {
  const table = new TableBytes(columns)
  let bytes = 0
  let last: ExportStep | null = null
  for await (const step of steps) {
    last = step
    bytes += Buffer.byteLength(step.lines)
    if (step.lines.length > 0) table.write(rowsOf(linesIn(step.lines)))
    if (bytes >= lineBytesMax) break
  }
  return { bytes: table.finish(), progress: last!.progress, atEnd: last!.atEnd }
}

const linesIn = (lines: string): Line[] =>
  lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

function rowsOf(lines: readonly Line[]): Rows<Columns> {
  const ofContent = <Name extends keyof Static<typeof Content>>(name: Name) =>
    lines.map(({ content }) => content?.[name] ?? null)
  return {
    type: lines.map(({ type }) => type),
    id: lines.map(({ document, content }) => document?.id ?? content!.document_id),
    ...Object.fromEntries(documentRows.map((row) => [row.name, valuesOf(row, lines)])),
    version_id: ofContent('version_id'),
    version_title: ofContent('title'),
    version_body: ofContent('body'),
    version_language: ofContent('language'),
    version_published_at: times(ofContent('published_at')),
    version_created_at: times(ofContent('created_at')),
  }
}

function valuesOf({ name, kind }: FieldRow, lines: readonly Line[]): Rows<Columns>[string] {
  const values: unknown[] = lines.map(({ document }) => document?.[name as keyof typeof document] ?? null)
  const type = kinds[kind]
  if (type === 'texts') return values.map((list) => (list ?? []) as readonly string[])
  if (type === 'timeOrNull') return times(values as (string | null)[])
  if (type === 'doubleOrNull') return values as (number | null)[]
  return values.map((value) => (value === null || typeof value === 'string' ? value : JSON.stringify(value)))
}

const times = (texts: readonly (string | null)[]) => texts.map((text) => (text === null ? null : new Date(text)))
