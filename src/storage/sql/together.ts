import type { DialectAdapter, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** An adapter whose database is another process, so that each round trip costs time. */
export interface PipeliningAdapter {
  /** True for the error of a statement that failed only because an earlier statement of the transaction had failed. */
  isOfEarlierFailure(error: unknown): boolean
}

/**
 * Runs statements of one call that do not need each other's results. Pipelines them if the database supports that.
 * Otherwise runs them one after the other, so that each builds its rows only when it runs. Waits for all results before
 * it rejects, because no statement may be sent after the end of its transaction. Rejects with the original error, not
 * with the errors that follow from it.
 */
export async function together<const Statements extends readonly (() => Promise<unknown>)[]>(
  db: Kysely<Tables>,
  statements: Statements,
): Promise<{ -readonly [I in keyof Statements]: Awaited<ReturnType<Statements[I]>> }> {
  const { adapter } = db.getExecutor()
  if (!isPipelining(adapter)) {
    const results: unknown[] = []
    for (const statement of statements) results.push(await statement())
    return results as never
  }
  const sent = statements.map((statement) => statement())
  try {
    return (await Promise.all(sent)) as never
  } catch (error) {
    const failures = (await Promise.allSettled(sent)).filter((one) => one.status === 'rejected')
    const cause = failures.find(({ reason }) => !adapter.isOfEarlierFailure(reason))
    throw cause === undefined ? error : cause.reason
  }
}

const isPipelining = (adapter: DialectAdapter): adapter is DialectAdapter & PipeliningAdapter =>
  'isOfEarlierFailure' in adapter
