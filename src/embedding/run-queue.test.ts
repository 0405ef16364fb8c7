import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RunQueue } from './run-queue.ts'

const job = fc.record({
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
  queue.add({ id: 1, kind: 'passage', texts: ['a', 'b', 'c'] })
  queue.add({ id: 2, kind: 'passage', texts: ['d'] })
  assert.equal(queue.next()?.textIndex, 0)
  queue.remove(1)
  assert.equal(queue.next()?.job.id, 2)
  assert.equal(queue.next(), null)
})
