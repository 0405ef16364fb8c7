import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TidemarkError } from '../platform/errors.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { AccessStore, TokenTake } from './access-store.ts'
import { type Bucket, type Rate, takeToken } from './rate-limits.ts'
import { SharedRates } from './shared-rates.ts'

/** A store that only limits rates, for any number of processes. */
class SharedBuckets {
  buckets = new Map<string, Bucket>()
  calls = 0
  failure: Error | null = null

  readonly store = {
    takeTokens: async (takes: readonly TokenTake[], nowMs: number) => {
      this.calls++
      await new Promise((resolve) => setImmediate(resolve))
      if (this.failure !== null) throw this.failure
      return takes.map(({ name, rate }) => {
        const { taken, bucket } = takeToken(this.buckets.get(name) ?? null, rate, nowMs)
        this.buckets.set(name, bucket)
        return { taken, left: bucket.tokens }
      })
    },
  } as unknown as AccessStore
}

const unexpected: Incidents = { failed: (job, error) => assert.fail(`${job}: ${error}`), worked: () => {} }

/** So slow that no bucket refills during a test. */
const slowRate = (burst: number): Rate => ({ perSecond: 0.001, burst })

test('with any number of requests and processes, exactly as many pass as the bucket holds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 30 }),
      fc.array(fc.nat(3), { minLength: 1, maxLength: 100 }),
      async (burst, at) => {
        const shared = new SharedBuckets()
        const processes = Array.from({ length: 4 }, () => new SharedRates(shared.store, unexpected))
        const states = await Promise.all(at.map((process) => processes[process]!.take('app', slowRate(burst))))
        assert.equal(states.filter(({ allowed }) => allowed).length, Math.min(burst, at.length))
        for (const { allowed, retryAfterSeconds } of states) assert.equal(allowed, retryAfterSeconds === 0)
      },
    ),
  )
})

test('applications do not share buckets, and a failure of the store fails one request but not the next', async () => {
  const shared = new SharedBuckets()
  const rates = new SharedRates(shared.store, unexpected)
  assert.ok((await rates.take('a', slowRate(1))).allowed)
  assert.ok(!(await rates.take('a', slowRate(1))).allowed)
  assert.ok((await rates.take('b', slowRate(1))).allowed)
  shared.failure = new Error('gone')
  await assert.rejects(async () => rates.take('c', slowRate(1)), /gone/)
  shared.failure = null
  assert.ok((await rates.take('c', slowRate(1))).allowed)
})

test('waiting requests share one call', async () => {
  const shared = new SharedBuckets()
  const rates = new SharedRates(shared.store, unexpected)
  const names = Array.from({ length: 200 }, (_, i) => `app-${i}`)
  const states = await Promise.all(names.map((name) => rates.take(name, slowRate(1))))
  assert.ok(states.every(({ allowed }) => allowed))
  assert.ok(shared.calls <= 2, `${shared.calls} calls`)
})

test('while the store is full, readers are served, each process counts for itself, and the incident is reported', async () => {
  const shared = new SharedBuckets()
  const reported: unknown[] = []
  const rates = new SharedRates(shared.store, { failed: (_, error) => reported.push(error), worked: () => {} })
  shared.failure = new TidemarkError('storage_full', 'full')
  const states = await Promise.all(Array.from({ length: 8 }, () => rates.take('app', slowRate(5))))
  assert.equal(states.filter(({ allowed }) => allowed).length, 5)
  assert.ok(reported.length > 0 && reported.every((error) => error === shared.failure))
  shared.failure = null
  assert.ok((await rates.take('app', slowRate(5))).allowed)
})
