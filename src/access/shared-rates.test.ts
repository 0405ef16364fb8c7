import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AccessStore, TokenTake } from './access-store.ts'
import { type Bucket, type Rate, takeTokens } from './rate-limits.ts'
import { SharedRates } from './shared-rates.ts'

/** The part of a store that rates use, with as many processes on it as a test likes. */
class SharedBuckets {
  buckets = new Map<string, Bucket>()
  asked = 0
  failure: Error | null = null

  readonly store = {
    takeTokens: async (takes: readonly TokenTake[], nowMs: number) => {
      this.asked++
      await new Promise((resolve) => setImmediate(resolve))
      if (this.failure !== null) throw this.failure
      return takes.map(({ name, rate, wanted }) => {
        const { granted, bucket } = takeTokens(this.buckets.get(name) ?? null, rate, wanted, nowMs)
        this.buckets.set(name, bucket)
        return { granted, left: bucket.tokens }
      })
    },
  } as unknown as AccessStore
}

/** So slow that nothing fills while a test runs. */
const still = (burst: number): Rate => ({ perSecond: 0.001, burst })

test('of any number of requests at any number of processes, as many pass as the bucket holds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 30 }),
      fc.array(fc.nat(3), { minLength: 1, maxLength: 100 }),
      async (burst, at) => {
        const shared = new SharedBuckets()
        const processes = Array.from({ length: 4 }, () => new SharedRates(shared.store))
        const states = await Promise.all(at.map((process) => processes[process]!.take('app', still(burst))))
        assert.equal(states.filter(({ allowed }) => allowed).length, Math.min(burst, at.length))
        for (const { allowed, retryAfterSeconds } of states) assert.equal(allowed, retryAfterSeconds === 0)
      },
    ),
  )
})

test('a fast application does not ask the store for every request', async () => {
  const shared = new SharedBuckets()
  const rates = new SharedRates(shared.store)
  for (let i = 0; i < 100; i++) assert.ok((await rates.take('app', { perSecond: 1000, burst: 1000 })).allowed)
  assert.ok(shared.asked < 20, `${shared.asked} questions`)
})

test('applications do not share buckets, and a store that fails fails the request but not the next one', async () => {
  const shared = new SharedBuckets()
  const rates = new SharedRates(shared.store)
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
  const rates = new SharedRates(shared.store)
  const names = Array.from({ length: 200 }, (_, i) => `app-${i}`)
  const states = await Promise.all(names.map((name) => rates.take(name, still(1))))
  assert.ok(states.every(({ allowed }) => allowed))
  assert.ok(shared.asked <= 2, `${shared.asked} questions`)
})
