import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Job, RunQueue } from './run-queue.ts'

const job = fc.record({
  callers: fc.constantFrom(['a'], ['b'], ['a', 'b']),
  kind: fc.constantFrom('query' as const, 'passage' as const),
  texts: fc.array(fc.string(), { maxLength: 6 }),
})

test('hands out every text once, in the order of its job, and at most one passage for eight waiting queries', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(job, fc.constant('run' as const)), { maxLength: 60 }), (steps) => {
      const queue = new RunQueue({ queriesAtOnce: 1, passagesBeside: false })
      const handed = new Map<number, number[]>()
      const expected = new Map<number, number[]>()
      let queriesWaiting = 0
      let passedOver = 0
      const run = (): boolean => {
        const next = queue.next()
        if (next === null) return false
        queue.finish(next)
        const positions = next.texts.map((text, i) => {
          assert.equal(text, next.job.texts[next.from + i])
          return next.from + i
        })
        handed.set(next.job.id, [...(handed.get(next.job.id) ?? []), ...positions])
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

test("passages take no query's slot: the query of a single caller starts beside a crowd while they run", () => {
  const queue = new RunQueue<Job>({ queriesAtOnce: 2, passagesBeside: false })
  const add = (id: number, kind: Job['kind'], caller: string) =>
    queue.add({ id, kind, callers: [caller], texts: ['x'] })
  const next = () => queue.next()?.job.id
  add(1, 'passage', 'indexing')
  assert.equal(next(), 1)
  add(2, 'query', 'crowd')
  add(3, 'query', 'crowd')
  add(4, 'query', 'single')
  add(5, 'passage', 'indexing')
  assert.deepEqual([next(), next(), next()], [2, 4, undefined])
})

test('short passages run together, up to eight and a thousand characters; queries and long passages run alone', () => {
  const sizes = (kind: Job['kind'], lengths: readonly number[]): number[] => {
    const queue = new RunQueue<Job>({ queriesAtOnce: lengths.length, passagesBeside: false })
    queue.add({ id: 1, kind, callers: ['a'], texts: lengths.map((length) => 'x'.repeat(length)) })
    const runs: number[] = []
    for (let run = queue.next(); run !== null; run = queue.next()) {
      runs.push(run.texts.length)
      queue.finish(run)
    }
    return runs
  }
  assert.deepEqual(sizes('passage', Array(20).fill(50)), [8, 8, 4])
  assert.deepEqual(sizes('passage', [400, 600, 1, 5000, 5000, 999, 1]), [2, 1, 1, 1, 2])
  assert.deepEqual(sizes('query', [5, 5, 5]), [1, 1, 1])
})

/** Takes runs one at a time; each ends at once. */
function runOne(queue: RunQueue<Job>): number | undefined {
  const run = queue.next()
  if (run !== null) queue.finish(run)
  return run?.job.id
}

test('a removed job is not run any further', () => {
  const queue = new RunQueue({ queriesAtOnce: 1, passagesBeside: false })
  queue.add({ id: 1, kind: 'passage', callers: ['a'], texts: ['a', 'b', 'c'].map((text) => text.repeat(900)) })
  queue.add({ id: 2, kind: 'passage', callers: ['a'], texts: ['d'] })
  assert.equal(runOne(queue), 1)
  queue.remove(1)
  assert.equal(runOne(queue), 2)
  assert.equal(runOne(queue), undefined)
})

test('of 40 queries of one caller and one of another, the other is next, with or without passages', () => {
  for (const passages of [0, 40]) {
    const queue = new RunQueue<Job>({ queriesAtOnce: 1, passagesBeside: false })
    const add = (id: number, kind: 'query' | 'passage', caller: string) =>
      queue.add({ id, kind, callers: [caller], texts: ['text'] })
    for (let id = 0; id < passages; id++) add(1000 + id, 'passage', 'background')
    for (let id = 0; id < 40; id++) add(id, 'query', 'crowd')
    assert.equal(runOne(queue), 0)
    add(100, 'query', 'single')
    assert.equal(runOne(queue), 100)
    assert.equal(runOne(queue), 1)
  }
})

test("a query that another caller joins runs in that caller's turn, once", () => {
  const queue = new RunQueue({ queriesAtOnce: 1, passagesBeside: false })
  for (let id = 0; id < 4; id++) queue.add({ id, kind: 'query', callers: ['crowd'], texts: ['text'] })
  assert.equal(runOne(queue), 0)
  queue.join(3, 'single')
  queue.join(0, 'single')
  queue.join(99, 'single')
  assert.deepEqual([runOne(queue), runOne(queue), runOne(queue), runOne(queue)], [3, 1, 2, undefined])
})

test('of two concurrent runs, the second is for another caller, or a query beside a passage, never more of the same', () => {
  const queue = new RunQueue<Job>({ queriesAtOnce: 2, passagesBeside: false })
  let id = 0
  const add = (kind: 'query' | 'passage', caller: string) =>
    queue.add({ id: id++, kind, callers: [caller], texts: ['text'] })
  for (let i = 0; i < 20; i++) add('query', 'crowd')
  for (let i = 0; i < 20; i++) add('passage', 'background')
  const first = queue.next()!
  assert.equal(queue.next(), null, 'the crowd has a running query, and passages come after queries')
  add('query', 'single')
  const second = queue.next()!
  assert.deepEqual(second.job.callers, ['single'])
  add('query', 'third')
  assert.equal(queue.next(), null, 'both slots are taken')
  queue.finish(first)
  const third = queue.next()!
  assert.deepEqual(third.job.callers, ['third'])
  queue.finish(second)
  queue.finish(third)
  const kinds = Array.from({ length: 20 }, () => {
    const run = queue.next()!
    queue.finish(run)
    return run.job.kind
  })
  assert.equal(kinds.filter((kind) => kind === 'passage').length, 2, 'one in nine')
})

test('a passage that has waited for eight queries starts beside the ninth, a second one does not', () => {
  const queue = new RunQueue<Job>({ queriesAtOnce: 2, passagesBeside: false })
  for (let id = 0; id < 30; id++) queue.add({ id, kind: 'query', callers: [`caller ${id % 2}`], texts: ['text'] })
  for (let id = 100; id < 110; id++) queue.add({ id, kind: 'passage', callers: ['background'], texts: ['text'] })
  const underWay = [queue.next()!, queue.next()!]
  const kinds = underWay.map((run) => run.job.kind)
  while (kinds.length < 12) {
    queue.finish(underWay.shift()!)
    underWay.push(queue.next()!)
    kinds.push(underWay.at(-1)!.job.kind)
    assert.ok(underWay.filter((run) => run.job.kind === 'passage').length < 2)
  }
  assert.equal(kinds.indexOf('passage'), 8)
})

test('passages with a process of their own run beside queries, one run at a time', () => {
  const queue = new RunQueue<Job>({ queriesAtOnce: 2, passagesBeside: true })
  const add = (id: number, kind: Job['kind'], caller: string) =>
    queue.add({ id, kind, callers: [caller], texts: ['x'] })
  add(1, 'query', 'crowd')
  add(2, 'query', 'crowd')
  for (const id of [10, 11, 12]) add(id, 'passage', 'indexing')
  const [query, passage] = [queue.next()!, queue.next()!]
  assert.deepEqual([query.job.id, passage.job.id, queue.next()], [1, 10, null])
  queue.finish(passage)
  add(3, 'query', 'single')
  assert.deepEqual(
    [queue.next()!.job.id, queue.next()!.job.id, queue.next()],
    [3, 11, null],
    'a query that can be run is first',
  )
})
