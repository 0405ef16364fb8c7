import type { DialectAdapter, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** An adapter whose database is another process: what counts is how often its answers are waited for. */
export interface TakesManyStatements {
  /** What a statement is told because one before it, of the same transaction, has failed. */
  isOfEarlierFailure(error: unknown): boolean
}

/**
 * Statements of one call that do not need each other's answers. They are sent at once where the database takes that, else
 * one after the other, so that the rows of each are made when it is their turn. Rejects with the cause and not with what came
 * of it, which may be heard sooner, and when all that were sent are answered: none may be sent after the end of its
 * transaction.
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
