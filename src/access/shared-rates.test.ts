import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TidemarkError } from '../errors.ts'
import type { Incidents } from '../incidents.ts'
import type { AccessStore, NamedTokenRequest } from './access-store.ts'
import { type Bucket, type Rate, takeTokens } from './rate-limits.ts'
import { type Clock, SharedRates } from './shared-rates.ts'

/** The part of a store that rates use, with as many processes on it as a test likes. */
class SharedBuckets {
  buckets = new Map<string, Bucket>()
  asked = 0
  failure: Error | null = null

  readonly store = {
    takeTokens: async (takes: readonly NamedTokenRequest[], nowMs: number) => {
      this.asked++
      await new Promise((resolve) => setImmediate(resolve))
      if (this.failure !== null) throw this.failure
      return takes.map((take) => {
        const { granted, bucket } = takeTokens(this.buckets.get(take.name) ?? null, take.rate, take, nowMs)
        this.buckets.set(take.name, bucket)
        return { granted, left: bucket.tokens }
      })
    },
  } as unknown as AccessStore
}

const unexpected: Incidents = { failed: (job, error) => assert.fail(`${job}: ${error}`), worked: () => {} }

/** So slow that nothing fills while a test runs. */
const still = (burst: number): Rate => ({ perSecond: 0.001, burst })

test('of any number of requests at any number of processes, as many pass as the bucket holds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 30 }),
      fc.array(fc.nat(3), { minLength: 1, maxLength: 100 }),
      async (burst, at) => {
        const shared = new SharedBuckets()
        const processes = Array.from({ length: 4 }, () => new SharedRates(shared.store, unexpected))
        const states = await Promise.all(at.map((process) => processes[process]!.take('app', still(burst))))
        assert.equal(states.filter(({ allowed }) => allowed).length, Math.min(burst, at.length))
        for (const { allowed, retryAfterSeconds } of states) assert.equal(allowed, retryAfterSeconds === 0)
      },
    ),
  )
})

test('a fast application does not ask the store for every request', async () => {
  const shared = new SharedBuckets()
  const rates = new SharedRates(shared.store, unexpected)
  for (let i = 0; i < 100; i++) assert.ok((await rates.take('app', { perSecond: 1000, burst: 1000 })).allowed)
  assert.ok(shared.asked < 20, `${shared.asked} questions`)
})

test('applications do not share buckets, and a store that fails fails the request but not the next one', async () => {
  const shared = new SharedBuckets()
  const rates = new SharedRates(shared.store, unexpected)
  assert.ok((await rates.take('a', still(1))).allowed)
  assert.ok(!(await rates.take('a', still(1))).allowed)
  assert.ok((await rates.take('b', still(1))).allowed)
  shared.failure = new Error('gone')
  await assert.rejects(async () => rates.take('c', still(1)), /gone/)
  shared.failure = null
  assert.ok((await rates.take('c', still(1))).allowed)
})

test('many applications are asked for together', async () => {
  const shared = new SharedBuckets()
  const rates = new SharedRates(shared.store, unexpected)
  const names = Array.from({ length: 200 }, (_, i) => `app-${i}`)
  const states = await Promise.all(names.map((name) => rates.take(name, still(1))))
  assert.ok(states.every(({ allowed }) => allowed))
  assert.ok(shared.asked <= 2, `${shared.asked} questions`)
})

/** Time that jumps from event to event. */
class VirtualTime implements Clock {
  #nowMs = 0
  #events: { readonly atMs: number; readonly work: () => void }[] = []

  nowMs = (): number => this.#nowMs
  wallMs = (): number => this.#nowMs

  after(ms: number, work: () => void): void {
    const atMs = this.#nowMs + ms
    const place = this.#events.findIndex((event) => event.atMs > atMs)
    this.#events.splice(place < 0 ? this.#events.length : place, 0, { atMs, work })
  }

  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve))
  }

  async run(): Promise<void> {
    for (let event = this.#events.shift(); event !== undefined; event = this.#events.shift()) {
      this.#nowMs = event.atMs
      event.work()
      // Everything that this event sets going is done before the next.
      await new Promise(setImmediate)
    }
  }
}

interface Arrival {
  readonly atMs: number
  readonly process: number
}

/** A store whose answer takes so long, half there and half back, and processes that share one of its buckets. */
async function simulate(processes: number, rate: Rate, answerMs: number, arrivals: readonly Arrival[]) {
  const time = new VirtualTime()
  let bucket: Bucket | null = null
  let questions = 0
  let taken = 0
  const store = {
    takeTokens: async (takes: readonly NamedTokenRequest[]) => {
      questions++
      await time.pass(answerMs / 2)
      const answers = takes.map((take) => {
        const result = takeTokens(bucket, take.rate, take, time.nowMs())
        bucket = result.bucket
        taken += result.granted - (take.returned ?? 0)
        return { granted: result.granted, left: result.bucket.tokens }
      })
      await time.pass(answerMs / 2)
      return answers
    },
  } as unknown as AccessStore
  const all = Array.from({ length: processes }, () => new SharedRates(store, unexpected, time))
  const passedMs: number[] = []
  let refused = 0
  const arrive = async (i: number): Promise<void> => {
    const { process } = arrivals[i]!
    if (i + 1 < arrivals.length) time.after(arrivals[i + 1]!.atMs - time.nowMs(), () => void arrive(i + 1))
    if ((await all[process]!.take('app', rate)).allowed) passedMs.push(time.nowMs())
    else refused++
  }
  time.after(arrivals[0]!.atMs, () => void arrive(0))
  await time.run()
  return { passedMs, refused, questions, taken }
}

/** What one bucket that everybody sees at once would let through. */
function passedIdeally(rate: Rate, arrivals: readonly Arrival[]): number {
  let bucket: Bucket | null = null
  let passed = 0
  for (const { atMs } of arrivals) {
    const taken = takeTokens(bucket, rate, { wanted: 1 }, atMs)
    bucket = taken.bucket
    passed += taken.granted
  }
  return passed
}

const seconds = 3

/** Requests at random times to random processes, or in groups that come to one process at once, as `group` says. */
function arrivalsOf(perSecond: number, processes: number, group: number, random: () => number): Arrival[] {
  const arrivals: Arrival[] = []
  const pauseMs = () => (-Math.log(1 - random()) * 1000 * group) / perSecond
  for (let atMs = 0; atMs < seconds * 1000; atMs += pauseMs()) {
    const process = Math.floor(random() * processes)
    for (let i = 0; i < group; i++) arrivals.push({ atMs, process })
  }
  return arrivals
}

const scene = fc.record({
  processes: fc.integer({ min: 1, max: 8 }),
  perSecond: fc.constantFrom(30, 100, 400, 1000),
  /** In seconds of the rate. */
  burst: fc.constantFrom(0.5, 1, 2),
  load: fc.constantFrom(0.05, 0.5, 0.9, 1.5),
  group: fc.constantFrom(1, 1, 10, 30),
  answerMs: fc.constantFrom(1, 5, 20),
  seed: fc.integer(),
})

test('of what one bucket for all would let through hardly anything is lost, and no more than is held passes besides', async () => {
  await fc.assert(
    fc.asyncProperty(scene, async ({ processes, perSecond, burst, load, group, answerMs, seed }) => {
      const rate = { perSecond, burst: perSecond * burst }
      const arrivals = arrivalsOf(perSecond * load, processes, group, randomFrom(seed))
      const { passedMs, refused, questions, taken } = await simulate(processes, rate, answerMs, arrivals)
      assert.equal(passedMs.length + refused, arrivals.length)
      assert.equal(taken, passedMs.length, 'what was taken and not used was not given back')
      const held = processes * Math.floor(perSecond * 0.05)
      const ideal = passedIdeally(rate, arrivals)
      assert.ok(passedMs.length >= 0.99 * ideal - held, `${passedMs.length} of ${ideal} passed, ${held} held`)

      // One bucket with room for what is held, and for what an answer on its way brings, would have let all of them pass.
      const roomy = { perSecond, burst: rate.burst + held + (perSecond * answerMs) / 1000 + 1 }
      const passed = passedMs.map((atMs) => ({ atMs, process: 0 }))
      assert.equal(passedIdeally(roomy, passed), passed.length, 'more passed than the rate allows')

      // Never more questions than requests, but for what is given back; and one at a time.
      const lastMs = arrivals.at(-1)!.atMs + 1000
      assert.ok(questions <= arrivals.length + (processes * lastMs) / 250)
      assert.ok(questions <= (processes * lastMs) / answerMs)
    }),
    { numRuns: 60 },
  )
})

test('900 requests a second of 1,000 that are allowed: none is refused, and few are asked for', async () => {
  const rate = { perSecond: 1000, burst: 500 }
  for (const processes of [1, 2, 8]) {
    const arrivals = arrivalsOf(900, processes, 1, randomFrom(processes))
    const { refused, questions } = await simulate(processes, rate, 3, arrivals)
    assert.equal(refused, 0)
    assert.ok(questions / seconds < 20 + processes * 5, `${questions} questions of ${processes} processes`)
  }
})

test('of steady requests the first alone waits, and not every one is asked for', async () => {
  for (const perSecond of [3, 10, 100]) {
    const time = new VirtualTime()
    const shared = new SharedBuckets()
    const rates = new SharedRates(shared.store, unexpected, time)
    const waited: number[] = []
    const arrive = (i: number): void => {
      const taken = rates.take('app', { perSecond: 1000, burst: 1000 })
      if (taken instanceof Promise) waited.push(i)
      if (i < 5 * perSecond) time.after(1000 / perSecond, () => arrive(i + 1))
    }
    time.after(0, () => arrive(0))
    await time.run()
    assert.deepEqual(waited, [0], `${perSecond} a second`)
    assert.ok(shared.asked < 4 * perSecond, `${shared.asked} questions at ${perSecond} a second`)
  }
})

test('that tokens could not be given back is reported, and the next request passes', async () => {
  const time = new VirtualTime()
  const shared = new SharedBuckets()
  const reported: unknown[] = []
  const rates = new SharedRates(shared.store, { failed: (_, error) => reported.push(error), worked: () => {} }, time)
  const rate = { perSecond: 1000, burst: 1000 }
  for (let i = 0; i < 20; i++) assert.ok((await rates.take('app', rate)).allowed)
  assert.equal(reported.length, 0)
  shared.failure = new Error('gone')
  await time.run()
  assert.ok(reported.length > 0 && reported.every((error) => error === shared.failure))
  shared.failure = null
  assert.ok((await rates.take('app', rate)).allowed)
})

function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('a store without room for a write refuses no reader: the process counts for itself, and it is reported', async () => {
  const shared = new SharedBuckets()
  const reported: unknown[] = []
  const rates = new SharedRates(shared.store, { failed: (_, error) => reported.push(error), worked: () => {} })
  shared.failure = new TidemarkError('storage_full', 'full')
  const states = await Promise.all(Array.from({ length: 8 }, () => rates.take('app', still(5))))
  assert.equal(states.filter(({ allowed }) => allowed).length, 5)
  assert.ok(reported.length > 0 && reported.every((error) => error === shared.failure))
  shared.failure = null
  assert.ok((await rates.take('app', still(5))).allowed)
})
