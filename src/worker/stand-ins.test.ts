import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Embedder } from '../embedding/embedder.ts'
import type { IndexSource } from '../indexing/index-source.ts'
import { silentIncidents } from '../platform/incidents.ts'
import { startStandIns } from './stand-ins.ts'

const before = [{ profileId: 'before' } as unknown as Embedder]

test('earlier profiles stand in until the new one has every waiting vector, and never again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let waiting = 1
  let checks = 0
  const checked: (() => void)[] = []
  const source = {
    waitingChunks: async (profileId: string) => {
      assert.equal(profileId, 'new')
      checks++
      for (const resolve of checked.splice(0)) resolve()
      return Array(waiting).fill({})
    },
  } as unknown as IndexSource
  const nextCheck = async (): Promise<void> => {
    const isChecked = new Promise<void>((resolve) => checked.push(resolve))
    t.mock.timers.tick(2000)
    await isChecked
    await new Promise(setImmediate)
  }
  let ended = 0
  const standIns = startStandIns(source, 'new', before, async () => void ended++, silentIncidents)
  await new Promise(setImmediate)
  assert.deepEqual(standIns.now(), before)
  await nextCheck()
  assert.deepEqual([standIns.now(), ended], [before, 0])
  waiting = 0
  await nextCheck()
  assert.deepEqual([standIns.now(), ended], [[], 1])
  waiting = 5
  const checksBefore = checks
  t.mock.timers.tick(10_000)
  await new Promise(setImmediate)
  assert.deepEqual([standIns.now(), ended, checks], [[], 1, checksBefore])
  await standIns.stop()
})

test('without earlier profiles there is no check', async () => {
  const standIns = startStandIns({} as IndexSource, 'new', [], async () => {}, silentIncidents)
  assert.deepEqual(standIns.now(), [])
  await standIns.stop()
})
