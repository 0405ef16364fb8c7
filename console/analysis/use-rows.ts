import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { inWords } from '../app/ask.ts'
import type { Artifact, Run } from './analysis-types.ts'
import { type AnalysedDocument, readDocuments } from './read-documents.ts'
import { artifactPath, readRows } from './read-table.ts'

export interface Rows<Row> {
  readonly rows: readonly Row[] | null
  readonly documents: ReadonlyMap<string, AnalysedDocument>
  readonly fault: string | null
}

/** Reads the rows of a file, then the documents of those rows that are shown. */
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
    const { signal, ...left } = controller()
    readRows<Row>(artifactPath(run.run_id, artifact), signal).then(
      (found) => {
        rows.value = found
      },
      (error) => showError(error, signal),
    )
    return left.end
  }, [artifact.artifact_id])
  useEffect(() => {
    const { signal, ...left } = controller()
    const missing = named(rows.value ?? [], shown).filter((id) => !documents.value.has(id))
    readDocuments(missing, signal, (some) => {
      documents.value = new Map([...documents.value, ...some.map((one) => [one.id, one] as const)])
    }).catch((error) => showError(error, signal))
    return left.end
  }, [rows.value, shown])
  return { rows: rows.value, documents: documents.value, fault: fault.value }
}

function controller(): { readonly signal: AbortSignal; readonly end: () => void } {
  const left = new AbortController()
  return { signal: left.signal, end: () => left.abort() }
}
