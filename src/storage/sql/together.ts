import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** An adapter whose database is another process: what counts is how often its answers are waited for. */
export interface TakesManyStatements {
  readonly takesManyStatements: true
}

/**
 * Statements of one call that do not need each other's answers. They are sent at once where the database takes that, else
 * one after the other, so that the rows of each are made when it is their turn. Rejects with what failed first, and when
 * all that were sent are answered: none may be sent after the end of its transaction.
 */
export async function together<const Statements extends readonly (() => Promise<unknown>)[]>(
  db: Kysely<Tables>,
  statements: Statements,
): Promise<{ -readonly [I in keyof Statements]: Awaited<ReturnType<Statements[I]>> }> {
  if (!('takesManyStatements' in db.getExecutor().adapter)) {
    const answers: unknown[] = []
    for (const statement of statements) answers.push(await statement())
    return answers as never
  }
  const sent = statements.map((statement) => statement())
  try {
    return (await Promise.all(sent)) as never
  } catch (error) {
    await Promise.allSettled(sent)
    throw error
  }
}
