import { workerData } from 'node:worker_threads'
import { answerCalls } from '../../threads/answer-calls.ts'
import { type Store, sqlStore } from '../sql/sql-store.ts'
import { openSqlite } from './node-sqlite.ts'

export interface StoreThread {
  readonly path: string
  readonly role: 'writer' | 'reader'
}

/** One call of one method of one port. Arguments and results are plain data. */
export interface StoreCall {
  readonly port: string
  readonly method: string
  readonly args: readonly unknown[]
}

/**
 * A thread that owns one connection and does one call at a time. Each call is one transaction: on the writer it takes
 * the write lock at once (so that it cannot fail half-way for want of it), on a reader it is one consistent snapshot.
 */
const { path, role } = workerData as StoreThread
const { raw, db } = openSqlite(path, role === 'reader')
const store = sqlStore(db)
const begin = role === 'writer' ? 'begin immediate' : 'begin'

async function perform(call: StoreCall): Promise<unknown> {
  raw.exec(begin)
  try {
    const target = store[call.port as keyof Store] as unknown as Record<
      string,
      (...args: unknown[]) => Promise<unknown>
    >
    const result = await target[call.method]!(...call.args)
    raw.exec('commit')
    return result
  } catch (error) {
    if (raw.isTransaction) raw.exec('rollback')
    throw error
  }
}

let last: Promise<unknown> = Promise.resolve()
const { started } = answerCalls<StoreCall>({
  answer(call) {
    const result = last.then(() => perform(call))
    last = result.catch(() => {})
    return result
  },
  async end() {
    await last
    raw.close()
  },
})
started()
