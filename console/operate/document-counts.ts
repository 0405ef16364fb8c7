import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { countEntitlements } from './count-entitlements.ts'

/** One request counts at most this many datasets. */
const datasetsMax = 1000

/** The number of documents by dataset ID, by the search index. */
export type DocumentCounts = ReadonlyMap<string, number> | 'asking' | 'unknown'

export function useDocumentCounts(ids: readonly string[]): DocumentCounts {
  const found = useSignal<DocumentCounts>('asking')
  useEffect(() => {
    if (ids.length === 0) return
    const leaving = new AbortController()
    countEntitlements([{ datasets: ids.slice(0, datasetsMax) }], leaving.signal).then(
      ({ datasets }) => {
        found.value = new Map(datasets.map((one) => [one.dataset_id, one.documents]))
      },
      () => {
        // The overview says why the index does not answer.
        if (!leaving.signal.aborted) found.value = 'unknown'
      },
    )
    return () => leaving.abort()
  }, [ids.join('\n')])
  return found.value
}

/** Returns null if the number is unknown, or not known yet. */
export const documentsOf = (counts: DocumentCounts, id: string): number | null =>
  typeof counts === 'string' ? null : (counts.get(id) ?? 0)
