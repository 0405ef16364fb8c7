import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { countEntitlements } from './count-entitlements.ts'

/** One request counts at most this many datasets. */
const datasetsMax = 1000

/** The number of documents by dataset ID, as the search index has it. */
export type DocumentCounts = ReadonlyMap<string, number> | 'loading' | 'unknown'

export function useDocumentCounts(ids: readonly string[]): DocumentCounts {
  const found = useSignal<DocumentCounts>('loading')
  useEffect(() => {
    if (ids.length === 0) return
    const controller = new AbortController()
    countEntitlements([{ datasets: ids.slice(0, datasetsMax) }], controller.signal).then(
      ({ datasets }) => {
        found.value = new Map(datasets.map((one) => [one.dataset_id, one.documents]))
      },
      () => {
        // The overview says why the index does not respond.
        if (!controller.signal.aborted) found.value = 'unknown'
      },
    )
    return () => controller.abort()
  }, [ids.join('\n')])
  return found.value
}

/** Returns the number of documents of a dataset; null if it is unknown or not known yet. */
export const documentsOf = (counts: DocumentCounts, id: string): number | null =>
  typeof counts === 'string' ? null : (counts.get(id) ?? 0)
