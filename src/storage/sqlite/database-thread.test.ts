import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { TidemarkError } from '../../errors.ts'
import { DatabaseThread } from './database-thread.ts'
import { openSqliteStore } from './open-sqlite-store.ts'
import { received, sendable } from './protocol.ts'

async function storeFile(t: { after: (clean: () => void) => void }): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-thread-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await (await openSqliteStore(folder)).close()
  return join(folder, 'tidemark.sqlite')
}

const listing = (number: number) => ({ number, port: 'operator', method: 'datasets', args: [] })

test('calls under way when a thread dies fail, and so does every later one; none hangs', async (t) => {
  const thread = await DatabaseThread.start(await storeFile(t), 'reader')
  assert.deepEqual(await thread.call(listing(1)), [])
  const underWay = Array.from({ length: 10 }, (_, i) => thread.call(listing(i + 2)))
  const settled = Promise.allSettled(underWay)
  await thread.terminate()
  const results = await settled
  assert.ok(results.some(({ status }) => status === 'rejected'))
  assert.ok(thread.ended)
  assert.equal(thread.callsUnderWay, 0)
  await assert.rejects(thread.call(listing(99)), /database thread has ended/)
  await thread.close()
})

test('a file that is no database fails the start, not the process', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-thread-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await assert.rejects(DatabaseThread.start(join(folder, 'absent', 'tidemark.sqlite'), 'reader'))
})

test('a failing call leaves the thread good for the next one, and a reader cannot write', async (t) => {
  const thread = await DatabaseThread.start(await storeFile(t), 'reader')
  const change = { kind: 'dataset.put', datasetId: 'a', name: 'x', description: null }
  await assert.rejects(
    thread.call({ number: 1, port: 'operator', method: 'commit', args: [[change], { actor: 'x', at: 1 }] }),
    /readonly/,
  )
  await assert.rejects(thread.call({ number: 2, port: 'operator', method: 'nothing', args: [] }))
  assert.deepEqual(await thread.call(listing(3)), [])
  await thread.close()
})

test('errors keep their code, details and words on their way between threads', () => {
  const details = [{ path: 'a', message: 'must be b' }]
  const error = received(structuredClone(sendable(new TidemarkError('conflict', 'no', { details }))))
  assert.ok(error instanceof TidemarkError)
  assert.deepEqual([error.code, error.message, error.details], ['conflict', 'no', details])
  const plain = received(structuredClone(sendable(new RangeError('too far'))))
  assert.deepEqual([plain.name, plain.message], ['RangeError', 'too far'])
  assert.equal(received(sendable('a text')).message, 'a text')
})
