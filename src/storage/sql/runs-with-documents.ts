import type { Kysely } from 'kysely'
import type { Scope } from '../../access/scope.ts'
import type { InputScope } from '../../analysis/input-scope.ts'
import type { RunStatus } from '../../analysis/run-states.ts'
import { idTimeMs } from '../../ids.ts'
import { parseKnownTime } from '../../time.ts'
import type { DocumentRow, Tables } from './tables.ts'

const haveRead: readonly RunStatus[] = ['validating', 'running', 'succeeded']

/**
 * Runs of analysis, besides those that are known, whose input may have had one of the documents. By what never changes of
 * a document: its dataset, its platform, and when it came in. Of what changes nobody knows how it was then.
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
    .where('status', 'in', haveRead)
    .orderBy('run_id')
    .execute()
  const listed = new Set(known)
  return runs
    .filter(({ run_id, input_scope, scope, input_cutoff_at }) => {
      if (listed.has(run_id)) return false
      const { created_from, created_to } = JSON.parse(input_scope) as InputScope
      const from = created_from === undefined ? 0 : parseKnownTime(created_from)
      const to = created_to === undefined ? Number.POSITIVE_INFINITY : parseKnownTime(created_to)
      const { entries } = JSON.parse(scope) as Scope
      return documents.some(({ document_id, dataset_id, source_platform }) => {
        const cameAt = idTimeMs(document_id)
        return (
          cameAt <= input_cutoff_at &&
          cameAt >= from &&
          cameAt < to &&
          entries.some(
            ({ datasets, platforms }) =>
              datasets.includes(dataset_id) && (platforms === null || platforms.includes(source_platform)),
          )
        )
      })
    })
    .map((run) => run.run_id)
}
