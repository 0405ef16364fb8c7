import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Calls } from '../../threads/calls.ts'
import { threadChannel } from '../../threads/channel.ts'
import { openSqliteStore } from './open-sqlite-store.ts'
import type { StoreCall, StoreThread } from './store-thread.ts'

function folder(t: { after: (clean: () => void) => void }): string {
  const made = mkdtempSync(join(tmpdir(), 'tidemark-thread-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

function start(workerData: StoreThread) {
  const thread = new Worker(new URL('./store-thread.ts', import.meta.url), { workerData })
  const calls = new Calls(threadChannel(thread), { name: 'store thread' })
  return { calls, ask: (call: StoreCall) => calls.call(call) }
}

test('a file that cannot be opened fails the start, not the process', async (t) => {
  const { calls } = start({ path: join(folder(t), 'absent', 'tidemark.sqlite'), role: 'reader' })
  await assert.rejects(calls.started, /unable to open database file/)
})

test('a failed call leaves the thread usable, and a reader cannot write', async (t) => {
  const dataDir = folder(t)
  await (await openSqliteStore(dataDir)).close()
  const { calls, ask } = start({ path: join(dataDir, 'tidemark.sqlite'), role: 'reader' })
  const change = { kind: 'dataset.put', datasetId: 'a', name: 'x', description: null }
  await assert.rejects(
    ask({ port: 'operator', method: 'commit', args: [[change], { actor: 'x', at: 1 }], writes: true }),
    // SQLite's error number identifies the error.
    (error: Error & { errcode?: number }) => /readonly/.test(error.message) && error.errcode === 8,
  )
  await assert.rejects(ask({ port: 'operator', method: 'nothing', args: [], writes: false }))
  assert.deepEqual(await ask({ port: 'operator', method: 'datasets', args: [], writes: false }), [])
  await calls.end()
})
