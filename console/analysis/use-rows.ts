import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { inWords } from '../app/call-api.ts'
import type { Artifact, Run } from './analysis-types.ts'
import { type AnalysedDocument, readDocuments } from './read-documents.ts'
import { artifactPath, readRows } from './read-table.ts'

export interface Rows<Row> {
  readonly rows: readonly Row[] | null
  readonly documents: ReadonlyMap<string, AnalysedDocument>
  readonly fault: string | null
}

/** Reads the rows of a file, then the documents that the shown rows name. */
export function useRows<Row>(
  run: Run,
  artifact: Artifact,
  shown: number,
  named: (rows: readonly Row[], shown: number) => readonly string[],
): Rows<Row> {
  const rows = useSignal<readonly Row[] | null>(null)
  const documents = useSignal<ReadonlyMap<string, AnalysedDocument>>(new Map())
  const fault = useSignal<string | null>(null)
  const showError = (error: unknown, signal: AbortSignal): void => {
    if (!signal.aborted) fault.value = inWords(error)
  }
  useEffect(() => {
    const { signal, abort } = abortable()
    readRows<Row>(artifactPath(run.run_id, artifact), signal).then(
      (found) => {
        rows.value = found
      },
      (error) => showError(error, signal),
    )
    return abort
  }, [artifact.artifact_id])
  useEffect(() => {
    const { signal, abort } = abortable()
    const missing = named(rows.value ?? [], shown).filter((id) => !documents.value.has(id))
    readDocuments(missing, signal, (some) => {
      documents.value = new Map([...documents.value, ...some.map((one) => [one.id, one] as const)])
    }).catch((error) => showError(error, signal))
    return abort
  }, [rows.value, shown])
  return { rows: rows.value, documents: documents.value, fault: fault.value }
}

function abortable(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
