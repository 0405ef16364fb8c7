import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Embedder } from '../embedding/embedder.ts'
import type { IndexSource } from '../indexing/index-source.ts'
import { silentIncidents } from '../platform/incidents.ts'
import { startStandIns } from './stand-ins.ts'

const before = [{ profileId: 'before' } as unknown as Embedder]

test('profiles from before stand in until the new one has every vector that waited, and never again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let waiting = 1
  let looks = 0
  const looked: (() => void)[] = []
  const source = {
    waitingChunks: async (profileId: string) => {
      assert.equal(profileId, 'new')
      looks++
      for (const tell of looked.splice(0)) tell()
      return Array(waiting).fill({})
    },
  } as unknown as IndexSource
  const nextLook = async (): Promise<void> => {
    const told = new Promise<void>((resolve) => looked.push(resolve))
    t.mock.timers.tick(2000)
    await told
    await new Promise(setImmediate)
  }
  let ended = 0
  const standIns = startStandIns(source, 'new', before, async () => void ended++, silentIncidents)
  await new Promise(setImmediate)
  assert.deepEqual(standIns.now(), before)
  await nextLook()
  assert.deepEqual([standIns.now(), ended], [before, 0])
  waiting = 0
  await nextLook()
  assert.deepEqual([standIns.now(), ended], [[], 1])
  waiting = 5
  const looksBefore = looks
  t.mock.timers.tick(10_000)
  await new Promise(setImmediate)
  assert.deepEqual([standIns.now(), ended, looks], [[], 1, looksBefore])
  await standIns.stop()
})

test('without earlier profiles it does not look', async () => {
  const standIns = startStandIns({} as IndexSource, 'new', [], async () => {}, silentIncidents)
  assert.deepEqual(standIns.now(), [])
  await standIns.stop()
})
