import { type Column, type CopiedDocument, columnNames, columns } from './copy.ts'

/** A document as batch-get and the export return it; a field that may not be read is absent. */
export type DocumentAnswer = Readonly<Record<string, unknown>> & { readonly id: string }
export interface ContentAnswer {
  readonly version_id: string
  readonly title?: string | null
  readonly body: string | null
}

export function copiedDocument(document: DocumentAnswer, content: ContentAnswer | null): CopiedDocument {
  const values: Readonly<Record<string, unknown>> = {
    ...document,
    version_id: content?.version_id,
    version_title: content?.title,
    body: content?.body,
  }
  return documentOf((name) => values[name])
}

/** Returns a document with its times and JSON as texts, whatever types the copy stores them in. */
export function documentOf(value: (name: Column) => unknown): CopiedDocument {
  return Object.fromEntries(columnNames.map((name) => [name, normalised(name, value(name) ?? null)])) as CopiedDocument
}

function normalised(name: Column, value: unknown): string | number | null {
  if (value === null) return null
  if (value instanceof Date) return value.toISOString()
  return columns[name] === 'json' ? canonicalJson(value) : (value as string | number)
}

/** The fields in which two documents differ. */
export const differingFields = (a: CopiedDocument, b: CopiedDocument): Column[] =>
  columnNames.filter((name) => a[name] !== b[name])

/** Returns the same text for the same content, whatever the order of its fields. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )
