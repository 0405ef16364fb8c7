import type { Intake } from '../ingest/answer-documents.ts'
import type { IncomingDocument, IngestResult } from '../ingest/content-store.ts'
import { TidemarkError } from '../platform/errors.ts'
import type { HeldTask, IfHeld, LeaseClaim, LiveStore } from './live-store.ts'

const refusals = {
  not_found: { code: 'task_not_found', message: 'no such task' },
  closed: { code: 'task_closed', message: 'this task is completed, or its deadline has passed: lease another one' },
  lease_lost: {
    code: 'task_lease_lost',
    message: 'this task is not leased to you, or no longer is: lease tasks again, and send heartbeats while you work',
  },
} as const

/** Returns the value if the task is held. Otherwise throws the error for the collector. */
export function requireHeld<T>(outcome: IfHeld<T>): T {
  if (outcome.held) return outcome.value
  const { code, message } = refusals[outcome.why]
  throw new TidemarkError(code, message)
}

/**
 * Ingests the documents of one task. If the lease is lost, a batch is refused as a whole (`allOrNothing`). The response
 * to an NDJSON stream has already started, so its documents are refused one by one (`oneByOne`).
 */
export function taskIntake(
  store: LiveStore,
  claim: LeaseClaim,
  task: HeldTask,
  written: () => void,
): { readonly allOrNothing: Intake; readonly oneByOne: Intake } {
  const taskFields = { dataset_id: task.datasetId, source_platform: task.platform }
  const deliver = async (documents: readonly IncomingDocument[]): Promise<IfHeld<readonly IngestResult[]>> => {
    const outcome = await store.deliver(claim, documents, Date.now())
    if (outcome.held && documents.length > 0) written()
    return outcome
  }
  const checks = {
    complete: (input: unknown) =>
      typeof input === 'object' && input !== null && !Array.isArray(input) ? { ...taskFields, ...input } : input,
    permitted: (document: IncomingDocument) => mismatch(document, task),
  }
  return {
    allOrNothing: { ...checks, submit: async (documents) => requireHeld(await deliver(documents)) },
    oneByOne: {
      ...checks,
      async submit(documents) {
        const outcome = await deliver(documents)
        if (outcome.held) return outcome.value
        const { code, message } = refusals[outcome.why === 'not_found' ? 'closed' : outcome.why]
        return documents.map((): IngestResult => ({ refusal: { code, message } }))
      },
    },
  }
}

/** A document that names its dataset or platform must match the task. */
function mismatch(
  { datasetId, platform }: IncomingDocument,
  task: HeldTask,
): Extract<IngestResult, { refusal: unknown }> | null {
  const [path, expected] =
    datasetId !== task.datasetId
      ? ['dataset_id', task.datasetId]
      : platform !== task.platform
        ? ['source_platform', task.platform]
        : [null, '']
  if (path === null) return null
  const message = `must be ${JSON.stringify(expected)}, as in the task, or left out`
  return { refusal: { code: 'invalid_document', message: `${path} ${message}`, details: [{ path, message }] } }
}
