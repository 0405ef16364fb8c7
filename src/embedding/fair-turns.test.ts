import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import { Callers } from './callers.ts'
import { EmbeddingError } from './embedding-error.ts'
import { FairTurns } from './fair-turns.ts'

const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Work that ends when told to, and what of it has been started. */
function held() {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      started.push(name)
      ends.set(name, () => resolve(name))
    })
  return { started, work, end: (name: string) => ends.get(name)!() }
}

const aborted = (error: unknown): boolean => error instanceof EmbeddingError && error.code === 'aborted'

test('what waits is started in turn between callers, and at most so many are under way', async () => {
  const turns = new FairTurns(2)
  const { started, work, end } = held()
  const names = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2']
  const all = names.map((name) => turns.run(new Callers(name[0]!), undefined, work(name)))
  await idle()
  assert.deepEqual(started, ['a1', 'a2'])
  for (let ended = 0; ended < names.length; ended++) {
    end(started[ended]!)
    await idle()
    assert.equal(started.length, Math.min(names.length, ended + 3))
  }
  assert.deepEqual(started, ['a1', 'a2', 'b1', 'a3', 'b2', 'a4'])
  assert.deepEqual(await Promise.all(all), names)
})

test('who joins what waits brings it forward to its own turn', async () => {
  const turns = new FairTurns(1)
  const { started, work, end } = held()
  const shared = new Callers('a')
  const all = ['a1', 'a2', 'a3'].map((name) => turns.run(new Callers('a'), undefined, work(name)))
  all.push(turns.run(shared, undefined, work('shared')))
  shared.join('b')
  await idle()
  for (const name of ['a1', 'shared', 'a2', 'a3']) {
    end(name)
    await idle()
  }
  assert.deepEqual(started, ['a1', 'shared', 'a2', 'a3'])
  await Promise.all(all)
})

test('what is given up while it waits never starts, and what fails gives its place back', async () => {
  const turns = new FairTurns(1)
  const { started, work, end } = held()
  const first = turns.run(new Callers('a'), undefined, work('first'))
  const controller = new AbortController()
  const second = turns.run(new Callers('a'), controller.signal, work('second'))
  const third = turns.run(new Callers('a'), undefined, () => Promise.reject(new Error('broken')))
  await idle()
  controller.abort()
  await assert.rejects(second, aborted)
  end('first')
  await first
  await assert.rejects(third, /broken/)
  const fourth = turns.run(new Callers('a'), undefined, work('fourth'))
  await idle()
  assert.deepEqual(started, ['first', 'fourth'])
  end('fourth')
  await fourth
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
})

test('whatever ends, fails or is given up, all places are free at the end', async () => {
  const fate = fc.constantFrom('ends', 'fails', 'is given up')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fate), { maxLength: 30 }), async (all) => {
      const turns = new FairTurns(3)
      let underWay = 0
      const settled = all.map(async ([caller, fate]) => {
        const controller = new AbortController()
        const run = turns.run(new Callers(caller), controller.signal, async () => {
          assert.ok(++underWay <= 3)
          await idle()
          underWay--
          if (fate === 'fails') throw new Error('broken')
        })
        if (fate === 'is given up') setImmediate(() => controller.abort())
        await run.catch(() => {})
      })
      await Promise.all(settled)
      assert.equal(underWay, 0)
      const { started, work, end } = held()
      const after = ['x', 'y', 'z'].map((name) => turns.run(new Callers(name), undefined, work(name)))
      await idle()
      assert.deepEqual(started, ['x', 'y', 'z'])
      for (const name of started) end(name)
      await Promise.all(after)
    }),
    { numRuns: 50 },
  )
})
