import type { DialectAdapter, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** An adapter whose database is another process, so the number of round trips counts. */
export interface TakesManyStatements {
  /** True for the error of a statement that failed only because an earlier statement of the transaction had failed. */
  isOfEarlierFailure(error: unknown): boolean
}

/**
 * Runs statements of one call that do not need each other's results. Sends them all at once if the database supports
 * that (pipelining), otherwise one after the other, so that each builds its rows only when it runs. Waits for all
 * answers before it rejects, because no statement may be sent after the end of its transaction. Rejects with the
 * original error, not with the errors that follow from it.
 */
export async function together<const Statements extends readonly (() => Promise<unknown>)[]>(
  db: Kysely<Tables>,
  statements: Statements,
): Promise<{ -readonly [I in keyof Statements]: Awaited<ReturnType<Statements[I]>> }> {
  const { adapter } = db.getExecutor()
  if (!takesManyStatements(adapter)) {
    const answers: unknown[] = []
    for (const statement of statements) answers.push(await statement())
    return answers as never
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

const takesManyStatements = (adapter: DialectAdapter): adapter is DialectAdapter & TakesManyStatements =>
  'isOfEarlierFailure' in adapter
