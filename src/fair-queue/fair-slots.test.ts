import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import { Callers } from './callers.ts'
import { FairSlots } from './fair-slots.ts'

const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Slots by name, whose first letter is the caller: which have started, and how to release one. */
function watched(atOnce: number, everyCaller = true) {
  const slots = new FairSlots(atOnce, everyCaller)
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const ask = async (name: string, callers = new Callers(name[0]!), signal?: AbortSignal): Promise<boolean> => {
    const end = await slots.take(callers, signal)
    if (end === null) return false
    started.push(name)
    ends.set(name, end)
    return true
  }
  return { slots, started, ask, end: (name: string) => ends.get(name)!() }
}

test('a caller without a slot starts at once, however many requests of another wait; the others start in rounds', async () => {
  const { started, ask, end } = watched(2)
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) void ask(name)
  await idle()
  assert.deepEqual(started, ['a1', 'a2'])
  for (const name of ['b1', 'b2', 'b3']) void ask(name)
  await idle()
  assert.deepEqual(started.slice(2), ['b1'])
  // Three are under way; the next starts when that is one less than two.
  end('a1')
  await idle()
  assert.deepEqual(started.slice(3), [])
  end('a2')
  await idle()
  assert.deepEqual(started.slice(3), ['a3'], 'a held no slot')
  end('b1')
  await idle()
  assert.deepEqual(started.slice(4), ['b2'], 'b held no slot')
  end('b2')
  end('a3')
  await idle()
  assert.deepEqual(started.slice(5), ['b3', 'a4'])
})

test('a free slot can be taken at once, and counts as one of those in use', async () => {
  const { slots, started, ask, end } = watched(2)
  const endFirst = slots.takeNow('a')
  assert.ok(endFirst)
  void ask('a1')
  void ask('a2')
  await idle()
  assert.deepEqual(started, ['a1'])
  assert.equal(slots.takeNow('a'), null)
  const endOther = slots.takeNow('b')
  assert.ok(endOther, 'b held no slot')
  endOther()
  endFirst()
  endFirst()
  await idle()
  assert.deepEqual(started, ['a1', 'a2'])
  end('a1')
  assert.ok(slots.takeNow('a'))
  const strict = new FairSlots(1, false)
  assert.ok(strict.takeNow('a'))
  assert.equal(strict.takeNow('b'), null)
})

test('without a slot for every caller the limit is never exceeded, and rounds are kept', async () => {
  const { started, ask, end } = watched(1, false)
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) void ask(name)
  const inOrder = ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']
  for (const [i, name] of inOrder.entries()) {
    await idle()
    assert.deepEqual(started, inOrder.slice(0, i + 1))
    end(name)
  }
})

test('a caller without a slot that joins a waiting request starts it', async () => {
  const { started, ask, end } = watched(1)
  const shared = new Callers('a')
  for (const name of ['a1', 'a2']) void ask(name)
  void ask('shared', shared)
  await idle()
  assert.deepEqual(started, ['a1'])
  shared.join('b')
  void ask('b1')
  await idle()
  assert.deepEqual(started, ['a1', 'shared'])
  end('shared')
  await idle()
  assert.deepEqual(started, ['a1', 'shared', 'b1'])
})

test('a request that is cancelled while it waits never starts; a slot is released once', async () => {
  const { slots, started, ask, end } = watched(1)
  const controller = new AbortController()
  assert.equal(await ask('a1'), true)
  const cancelled = ask('a2', new Callers('a'), controller.signal)
  const third = ask('a3')
  controller.abort()
  assert.equal(await cancelled, false)
  assert.equal(await slots.take(new Callers('c'), controller.signal), null)
  end('a1')
  end('a1')
  assert.equal(await third, true)
  void ask('a4')
  await idle()
  assert.deepEqual(started, ['a1', 'a3'])
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
})

test('whatever arrives, ends and is cancelled: no request waits without need, and no more start than the limit allows', async () => {
  const caller = fc.constantFrom('a', 'b', 'c', 'd')
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('ask' as const), caller }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('join' as const), caller, which: fc.nat() }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), async (atOnce, steps) => {
      const slots = new FairSlots(atOnce)
      interface One {
        readonly callers: Callers
        readonly controller: AbortController
        end: (() => void) | null
        /** The callers it counted for when it started. */
        startedFor: readonly string[]
      }
      let waiting: One[] = []
      let underWay: One[] = []
      const of = (some: One[], which: number): One | undefined => some[which % Math.max(1, some.length)]
      for (const one of steps) {
        if (one.kind === 'ask') {
          const request: One = {
            callers: new Callers(one.caller),
            controller: new AbortController(),
            end: null,
            startedFor: [],
          }
          waiting.push(request)
          void slots.take(request.callers, request.controller.signal).then((end) => {
            waiting = waiting.filter((other) => other !== request)
            if (end === null) return
            underWay.push(Object.assign(request, { end, startedFor: request.callers.ids }))
          })
        } else if (one.kind === 'end') {
          const ended = of(underWay, one.which)
          underWay = underWay.filter((other) => other !== ended)
          ended?.end?.()
        } else if (one.kind === 'cancel') of(waiting, one.which)?.controller.abort()
        else of(waiting, one.which)?.callers.join(one.caller)
        await idle()
        const busy = new Set(underWay.flatMap(({ startedFor }) => startedFor))
        for (const { callers } of waiting) for (const id of callers.ids) assert.ok(busy.has(id), `${id} waits alone`)
        if (underWay.length < atOnce) assert.equal(waiting.length, 0)
        assert.ok(underWay.length < atOnce + busy.size)
      }
      while (underWay.length > 0) {
        underWay.shift()!.end!()
        await idle()
      }
      assert.equal(waiting.length, 0)
    }),
    { numRuns: 60 },
  )
})
