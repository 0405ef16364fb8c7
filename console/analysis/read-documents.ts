import { callApi } from '../app/call-api.ts'
import { nameOf } from '../shared/document-name.ts'

/** The fields of a document that are shown beside a result. */
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

const batchSize = 200

/** Reads documents in batches and reports each batch. Documents that may no longer be read are left out. */
export async function readDocuments(
  ids: Iterable<string>,
  signal: AbortSignal,
  report: (documents: readonly AnalysedDocument[]) => void,
): Promise<void> {
  const unique = [...new Set(ids)]
  for (let start = 0; start < unique.length; start += batchSize) {
    const { documents } = await callApi<{ documents: AnalysedDocument[] }>('POST', '/v1/documents/batch-get', {
      body: { document_ids: unique.slice(start, start + batchSize) },
      signal,
      repeatable: true,
    })
    signal.throwIfAborted()
    report(documents)
  }
}

export function titleOf(document: AnalysedDocument | undefined): string {
  return document === undefined ? 'A document you can no longer read' : nameOf(document.content ?? {})
}

export const documentAddress = (id: string): string => `/documents/${encodeURIComponent(id)}`
