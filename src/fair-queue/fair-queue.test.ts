import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FairQueue } from './fair-queue.ts'

const caller = fc.constantFrom('a', 'b', 'c', 'd')
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), caller }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('join' as const), caller, item: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), item: fc.nat(60) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const), except: fc.constant([]) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('take' as const), except: fc.subarray(['a', 'b', 'c', 'd']) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('takeFor' as const), caller }) },
)

/**
 * The same queue as plain lists: waiting items with their callers in order of arrival, and the turns of callers by
 * round.
 */
class Model {
  waiting: { caller: string; item: number }[] = []
  turns: { caller: string; round: number }[] = []
  round = 0
  servedIn = new Map<string, number>()

  add(caller: string, item: number): void {
    if (this.waiting.some((one) => one.caller === caller && one.item === item)) return
    if (!this.waiting.some((one) => one.caller === caller)) this.#queue(caller)
    this.waiting.push({ caller, item })
  }

  waits(item: number): boolean {
    return this.waiting.some((one) => one.item === item)
  }

  remove(item: number): void {
    this.waiting = this.waiting.filter((one) => one.item !== item)
    this.turns = this.turns.filter(({ caller }) => this.waiting.some((one) => one.caller === caller))
  }

  take(except: readonly string[]): number | undefined {
    const turns = this.turns.toSorted((a, b) => a.round - b.round)
    if (turns.length === 0) this.round++
    const first = turns.find(({ caller }) => !except.includes(caller))
    if (first === undefined) return undefined
    // A round lasts as long as any caller has a turn in it, even one that is passed over.
    this.round = turns[0]!.round
    return this.takeFor(first.caller)
  }

  takeFor(caller: string): number | undefined {
    const item = this.waiting.find((one) => one.caller === caller)?.item
    if (item === undefined) return undefined
    const turn = this.turns.find((one) => one.caller === caller)!
    this.servedIn.set(caller, this.round)
    // A caller served out of turn keeps its turn if that is in the next round already.
    if (turn.round === this.round) {
      this.turns = this.turns.filter((one) => one !== turn)
      this.#queue(caller)
    }
    this.remove(item)
    return item
  }

  #queue(caller: string): void {
    this.turns.push({ caller, round: this.servedIn.get(caller) === this.round ? this.round + 1 : this.round })
  }
}

test('behaves like plain lists, whatever is added, joined, removed and taken', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const queue = new FairQueue<number>()
      const model = new Model()
      let items = 0
      for (const one of steps) {
        switch (one.kind) {
          case 'add':
            queue.add(one.caller, items)
            model.add(one.caller, items++)
            break
          case 'join':
            queue.join(one.caller, one.item)
            if (model.waits(one.item)) model.add(one.caller, one.item)
            break
          case 'remove':
            assert.equal(queue.remove(one.item), model.waits(one.item))
            model.remove(one.item)
            break
          case 'take':
            assert.equal(queue.take(new Set(one.except)), model.take(one.except))
            break
          case 'takeFor':
            assert.equal(queue.takeFor(one.caller), model.takeFor(one.caller))
        }
        assert.equal(queue.size, new Set(model.waiting.map(({ item }) => item)).size)
        for (const caller of 'abcd') {
          assert.equal(queue.waitingFor(caller), model.waiting.filter((waiting) => waiting.caller === caller).length)
        }
      }
      for (;;) {
        const taken = queue.take()
        assert.equal(taken, model.take([]))
        if (taken === undefined) break
      }
      assert.equal(queue.size, 0)
    }),
  )
})

test('each other caller passes a waiting one at most once, whenever it comes', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(caller, fc.constant(null)), { maxLength: 120 }), (steps) => {
      const queue = new FairQueue<{ readonly caller: string }>()
      /** For each waiting caller, the callers served since its first item became the head of its line. */
      const passedBy = new Map<string, string[]>()
      const take = (): boolean => {
        const item = queue.take()
        if (item === undefined) return false
        passedBy.delete(item.caller)
        for (const others of passedBy.values()) others.push(item.caller)
        if (queue.waitingFor(item.caller) > 0) passedBy.set(item.caller, [])
        for (const others of passedBy.values()) assert.equal(others.length, new Set(others).size, `${others}`)
        return true
      }
      for (const caller of steps) {
        if (caller === null) take()
        else {
          queue.add(caller, { caller })
          if (!passedBy.has(caller)) passedBy.set(caller, [])
        }
      }
      while (take());
    }),
  )
})

test('beside 40 items of one caller, an item of another is taken next, and again, and starves nobody', () => {
  const queue = new FairQueue<string>()
  for (let i = 0; i < 40; i++) queue.add('crowd', `crowd ${i}`)
  assert.equal(queue.take(), 'crowd 0')
  for (let i = 1; i < 10; i++) {
    queue.add('single', `single ${i}`)
    assert.deepEqual([queue.take(), queue.take()], [`single ${i}`, `crowd ${i}`])
  }
  // Each of these two comes again as soon as it is served.
  for (const caller of ['b', 'c']) queue.add(caller, caller)
  const taken: string[] = []
  for (let i = 0; i < 9; i++) {
    const item = queue.take()!
    taken.push(item.split(' ', 1)[0]!)
    if (item === 'b' || item === 'c') queue.add(item, item)
  }
  assert.deepEqual(taken, ['b', 'c', 'crowd', 'b', 'c', 'crowd', 'b', 'c', 'crowd'])
})
