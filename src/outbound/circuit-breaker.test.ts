import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Permit } from './circuit-breaker.ts'
import { CircuitBreaker } from './circuit-breaker.ts'

const failuresMax = 2
const cooldownMs = 100

/** The expected state of the breaker, computed from its history since it last closed or opened. */
interface Model {
  nowMs: number
  openedAtMs: number | null
  failuresInRow: number
  probe: Permit | null
}

/** Weighted so that most runs open the circuit, probe it and close it again several times. */
const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('admit' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('end' as const),
      which: fc.nat({ max: 5 }),
      how: fc.constantFrom('succeeded' as const, 'failed' as const, 'failed' as const, 'abandoned' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.constantFrom(1, 60, 100, 250) }) },
)

test('agrees with its model over any sequence of requests, outcomes and pauses', () => {
  fc.assert(
    fc.property(fc.array(action, { minLength: 30, maxLength: 100, size: 'max' }), (actions) => {
      const model: Model = { nowMs: 0, openedAtMs: null, failuresInRow: 0, probe: null }
      const breaker = new CircuitBreaker({ failuresMax, cooldownMs, now: () => model.nowMs })
      let permits: { permit: Permit; current: boolean }[] = []
      const invalidatePermits = (): void => {
        permits = permits.map(({ permit }) => ({ permit, current: false }))
      }
      const modelState = (): string => {
        if (model.openedAtMs === null) return 'closed'
        return model.nowMs < model.openedAtMs + cooldownMs ? 'open' : 'half_open'
      }
      for (const step of actions) {
        if (step.type === 'wait') model.nowMs += step.ms
        if (step.type === 'admit') {
          const permit = breaker.admit()
          const expected = modelState() === 'closed' || (modelState() === 'half_open' && model.probe === null)
          assert.equal(permit !== null, expected)
          if (permit !== null) {
            if (modelState() === 'half_open') model.probe = permit
            permits.push({ permit, current: true })
          }
        }
        if (step.type === 'end' && permits.length > 0) {
          const [ended] = permits.splice(step.which % permits.length, 1)
          const { permit, current } = ended!
          permit[step.how]()
          const probing = model.probe === permit
          if (probing) model.probe = null
          if (current && step.how === 'succeeded') {
            if (probing) invalidatePermits()
            model.openedAtMs = null
            model.failuresInRow = 0
          }
          if (current && step.how === 'failed') {
            model.failuresInRow++
            if (probing || model.failuresInRow >= failuresMax) {
              model.openedAtMs = model.nowMs
              model.failuresInRow = 0
              invalidatePermits()
            }
          }
        }
        assert.equal(breaker.state, modelState())
        if (modelState() === 'open') assert.equal(breaker.waitMs, model.openedAtMs! + cooldownMs - model.nowMs)
        else assert.equal(breaker.waitMs, 0)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('a permit counts once', () => {
  const breaker = new CircuitBreaker({ failuresMax: 2, cooldownMs })
  const permit = breaker.admit()!
  permit.failed()
  permit.failed()
  assert.equal(breaker.state, 'closed')
  breaker.admit()!.failed()
  assert.equal(breaker.state, 'open')
})
