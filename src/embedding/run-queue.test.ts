import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RunQueue } from './run-queue.ts'

const job = fc.record({
  callers: fc.constantFrom(['a'], ['b'], ['a', 'b']),
  kind: fc.constantFrom('query' as const, 'passage' as const),
  texts: fc.array(fc.string(), { maxLength: 6 }),
})

test('hands out every text once, in the order of its job, and a waiting query before passages but one in nine', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(job, fc.constant('run' as const)), { maxLength: 60 }), (steps) => {
      const queue = new RunQueue()
      const handed = new Map<number, number[]>()
      const expected = new Map<number, number[]>()
      let queriesWaiting = 0
      let passedOver = 0
      const run = (): boolean => {
        const next = queue.next()
        if (next === null) return false
        handed.set(next.job.id, [...(handed.get(next.job.id) ?? []), next.textIndex])
        if (next.job.kind === 'query') queriesWaiting--
        else if (queriesWaiting > 0) passedOver++
        return true
      }
      let queries = 0
      for (const [id, step] of steps.entries()) {
        if (step === 'run') {
          run()
          continue
        }
        queue.add({ id, ...step })
        if (step.texts.length > 0) expected.set(id, [...step.texts.keys()])
        if (step.kind === 'query') {
          queriesWaiting += step.texts.length
          queries += step.texts.length
        }
      }
      while (run());
      assert.deepEqual(new Map([...handed].sort(([a], [b]) => a - b)), expected)
      assert.ok(passedOver <= queries / 8)
    }),
  )
})

test('a job taken out is not run any further', () => {
  const queue = new RunQueue()
  queue.add({ id: 1, kind: 'passage', callers: ['a'], texts: ['a', 'b', 'c'] })
  queue.add({ id: 2, kind: 'passage', callers: ['a'], texts: ['d'] })
  assert.equal(queue.next()?.textIndex, 0)
  queue.remove(1)
  assert.equal(queue.next()?.job.id, 2)
  assert.equal(queue.next(), null)
})

test('of 40 queries of one caller and one of another, the other is next, with or without passages', () => {
  for (const passages of [0, 40]) {
    const queue = new RunQueue()
    const add = (id: number, kind: 'query' | 'passage', caller: string) =>
      queue.add({ id, kind, callers: [caller], texts: ['text'] })
    for (let id = 0; id < passages; id++) add(1000 + id, 'passage', 'background')
    for (let id = 0; id < 40; id++) add(id, 'query', 'crowd')
    assert.equal(queue.next()?.job.id, 0)
    add(100, 'query', 'single')
    assert.equal(queue.next()?.job.id, 100)
    assert.equal(queue.next()?.job.id, 1)
  }
})

test('a query that another caller joins is run in its turn, once', () => {
  const queue = new RunQueue()
  for (let id = 0; id < 4; id++) queue.add({ id, kind: 'query', callers: ['crowd'], texts: ['text'] })
  assert.equal(queue.next()?.job.id, 0)
  queue.join(3, 'single')
  queue.join(0, 'single')
  queue.join(99, 'single')
  assert.deepEqual(
    [queue.next(), queue.next(), queue.next(), queue.next()].map((run) => run?.job.id),
    [3, 1, 2, undefined],
  )
})
