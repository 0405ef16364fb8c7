import { workerData } from 'node:worker_threads'
import type { ExportPortion } from '../../export/export-source.ts'
import { answerCalls } from '../../threads/answer-calls.ts'
import { giveWay } from '../../threads/give-way.ts'
import type { Store } from '../sql/sql-store.ts'
import { beginWriting, openSqlite } from './node-sqlite.ts'
import { scrub } from './scrub.ts'
import { bringUpToDate } from './sqlite-schema.ts'
import { sqliteStore } from './sqlite-store.ts'

export interface StoreThread {
  readonly path: string
  /** A bulk reader is for those who read much. */
  readonly role: 'writer' | 'reader' | 'bulk reader'
}

/** What a thread says when it takes calls. */
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

/** What is no call of a port is no transaction. */
export type ThreadCall = StoreCall | 'scrub'

/**
 * A thread that owns one connection and does one call at a time. Each call is one transaction: one that writes takes the
 * write lock at once (so that it cannot fail half-way for want of it), one that reads has one consistent snapshot. The
 * writer brings the store up to date before it takes calls.
 */
const { path, role } = workerData as StoreThread
// Whoever waits for one document goes before whoever takes them all.
if (role === 'bulk reader') giveWay(bulkNiceness)
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

/** Half a megabyte of an export, which nothing else is a part of. */
const isPortion = (result: unknown): result is ExportPortion =>
  typeof result === 'object' && result !== null && 'lines' in result && result.lines instanceof Uint8Array

let last: Promise<unknown> = Promise.resolve()
const { started } = answerCalls<ThreadCall>({
  answer(call) {
    const result = last.then(() => perform(call))
    last = result.catch(() => {})
    return result
  },
  handsOver: (result) => (isPortion(result) ? [result.lines.buffer as ArrayBuffer] : []),
  async end() {
    await last
    raw.close()
  },
})
started({ migrated } satisfies StoreStart)
