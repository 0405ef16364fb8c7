import { ask } from '../app/ask.ts'
import { nameOf } from '../shared/document-name.ts'

/** What is shown of a document beside a result. */
export interface AnalysedDocument {
  readonly id: string
  readonly dataset_id: string
  readonly source_platform: string
  readonly language: string | null
  readonly published_at: string | null
  readonly url: string | null
  readonly author?: { readonly nickname: string | null } | null
  readonly content: { readonly title: string | null; readonly body: string | null } | null
}

const atOnce = 200

/** Reads documents and tells of each portion; of those that may not be read any more it tells nothing. */
export async function readDocuments(
  ids: Iterable<string>,
  signal: AbortSignal,
  tell: (documents: readonly AnalysedDocument[]) => void,
): Promise<void> {
  const wanted = [...new Set(ids)]
  for (let start = 0; start < wanted.length; start += atOnce) {
    const { documents } = await ask<{ documents: AnalysedDocument[] }>('POST', '/v1/documents/batch-get', {
      body: { document_ids: wanted.slice(start, start + atOnce) },
      signal,
      repeatable: true,
    })
    signal.throwIfAborted()
    tell(documents)
  }
}

export function titleOf(document: AnalysedDocument | undefined): string {
  return document === undefined ? 'A document you can no longer read' : nameOf(document.content ?? {})
}

export const documentAddress = (id: string): string => `/documents/${encodeURIComponent(id)}`
