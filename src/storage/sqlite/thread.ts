import { parentPort, workerData } from 'node:worker_threads'
import { type Store, sqlStore } from '../sql/sql-store.ts'
import { openSqlite } from './node-sqlite.ts'
import { type Call, sendable } from './protocol.ts'

/**
 * A thread that owns one connection and does one call at a time. Each call is one transaction: on the writer it takes
 * the write lock at once (so that it cannot fail half-way for want of it), on a reader it is one consistent snapshot.
 */
const { path, role } = workerData as { path: string; role: 'writer' | 'reader' }
const port = parentPort!
const { raw, db } = openSqlite(path, role === 'reader')
const store = sqlStore(db)
const begin = role === 'writer' ? 'begin immediate' : 'begin'

async function perform(call: Call): Promise<unknown> {
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

let last: Promise<void> = Promise.resolve()
port.on('message', (call: Call | 'close') => {
  last = last.then(async () => {
    if (call === 'close') {
      raw.close()
      port.close()
      return
    }
    try {
      port.postMessage({ number: call.number, result: await perform(call) })
    } catch (error) {
      port.postMessage({ number: call.number, error: sendable(error) })
    }
  })
})
port.postMessage('ready')
