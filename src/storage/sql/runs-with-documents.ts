import type { Kysely } from 'kysely'
import type { Scope } from '../../access/scope.ts'
import type { InputScope } from '../../analysis/input-scope.ts'
import type { RunStatus } from '../../analysis/run-states.ts'
import { idTimeMs } from '../../platform/ids.ts'
import { parseKnownBound } from '../../platform/time.ts'
import type { DocumentRow, Tables } from './tables.ts'

const statusesWithInput: readonly RunStatus[] = ['validating', 'running', 'succeeded']

/**
 * Analysis runs, other than the known ones, whose input may have contained one of the documents. Compares only the
 * dataset, the platform and the ingest time, because these never change; earlier values of other fields are unknown.
 */
export async function runsWith(
  db: Kysely<Tables>,
  documents: readonly Pick<DocumentRow, 'document_id' | 'dataset_id' | 'source_platform'>[],
  known: readonly string[],
): Promise<string[]> {
  if (documents.length === 0) return []
  const runs = await db
    .selectFrom('analysis_run')
    .select(['run_id', 'input_scope', 'scope', 'input_cutoff_at'])
    .where('status', 'in', statusesWithInput)
    .orderBy('run_id')
    .execute()
  const listed = new Set(known)
  return runs
    .filter(({ run_id, input_scope, scope, input_cutoff_at }) => {
      if (listed.has(run_id)) return false
      const { created_from, created_to } = JSON.parse(input_scope) as InputScope
      const from = created_from === undefined ? 0 : parseKnownBound(created_from)
      const to = created_to === undefined ? Number.POSITIVE_INFINITY : parseKnownBound(created_to)
      const { entries } = JSON.parse(scope) as Scope
      return documents.some(({ document_id, dataset_id, source_platform }) => {
        const ingestedAt = idTimeMs(document_id)
        return (
          ingestedAt <= input_cutoff_at &&
          ingestedAt >= from &&
          ingestedAt < to &&
          entries.some(
            ({ datasets, platforms }) =>
              datasets.includes(dataset_id) && (platforms === null || platforms.includes(source_platform)),
          )
        )
      })
    })
    .map((run) => run.run_id)
}
