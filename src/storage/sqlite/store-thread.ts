import { workerData } from 'node:worker_threads'
import { answerCalls } from '../../threads/answer-calls.ts'
import { lowerThreadPriority } from '../../threads/lower-priority.ts'
import type { Store } from '../sql/sql-store.ts'
import { beginWriting, openSqlite } from './node-sqlite.ts'
import { scrub } from './scrub.ts'
import { bringUpToDate } from './sqlite-schema.ts'
import { sqliteStore } from './sqlite-store.ts'

export interface StoreThread {
  readonly path: string
  /** A bulk reader serves exports and the feeding of the index. */
  readonly role: 'writer' | 'reader' | 'bulk reader'
}

/** Sent when the thread is ready for calls. */
export interface StoreStart {
  /** The migrations that it applied. */
  readonly migrated: readonly string[]
}

/** One call of one method of one port. Arguments and results are plain data. */
export interface StoreCall {
  readonly port: string
  readonly method: string
  readonly args: readonly unknown[]
  readonly writes: boolean
}

const bulkNiceness = 5

/** A scrub is not a call of a port and runs outside a transaction. */
export type ThreadCall = StoreCall | 'scrub'

/**
 * A thread that owns one connection and handles one call at a time. Each call is one transaction: a write takes the
 * write lock at once, so that it cannot fail half-way for lack of it, and a read has one consistent snapshot. The
 * writer brings the schema up to date before it takes calls.
 */
const { path, role } = workerData as StoreThread
// Other reads have priority over bulk reads.
if (role === 'bulk reader') lowerThreadPriority(bulkNiceness)
const migrated = role === 'writer' ? await bringUpToDate(path) : []
const connection = openSqlite(path, role !== 'writer')
const { raw } = connection
const store = sqliteStore(connection)

async function perform(call: ThreadCall): Promise<unknown> {
  if (call === 'scrub') return scrub(raw)
  const { port, method, args, writes } = call
  if (writes) beginWriting(raw)
  else raw.exec('begin')
  try {
    const target = store[port as keyof Store] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
    const result = await target[method]!(...args)
    raw.exec('commit')
    return result
  } catch (error) {
    if (raw.isTransaction) raw.exec('rollback')
    throw error
  }
}

let last: Promise<unknown> = Promise.resolve()
const { started } = answerCalls<ThreadCall>({
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
started({ migrated } satisfies StoreStart)
