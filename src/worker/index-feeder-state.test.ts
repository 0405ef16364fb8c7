import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { casesOf } from '../../test/support/cases.ts'
import {
  type FeederEvent,
  type FeederState,
  isIncomplete,
  isLeader,
  needsNewest,
  negligibleDelayMs,
  startingState,
  stateAfter,
  transitions,
  troubleOf,
} from './index-feeder-state.ts'

const eventTypes = [...new Set(Object.values(transitions).flatMap((row) => Object.keys(row)))] as FeederEvent['type'][]

/** A step of the walk: an event of this type, with revisions and times relative to the current ones. */
const move = fc.record({
  type: fc.constantFrom(...eventTypes, ...(['elected', 'opened', 'fed', 'fed', 'fed', 'looked'] as const)),
  step: fc.nat({ max: 6 }),
  back: fc.nat({ max: 4 }),
  ahead: fc.nat({ max: 6 }),
  waitMs: fc.constantFrom(1, negligibleDelayMs - 1, negligibleDelayMs, 5 * negligibleDelayMs),
})
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never

/**
 * An event that the driver may send in a state. A step only moves forward; `looked` and `opened` may find the index at
 * any position.
 */
function eventOf(state: FeederState, { type, step, back, ahead }: Move, nowMs: number): FeederEvent {
  const anywhere = Math.max(0, state.position + step - back)
  const newest = anywhere + ahead
  switch (type) {
    case 'opened':
      // An emptied index is opened at its start.
      return { type, position: state.kind === 'rebuilding' ? 0 : anywhere, newest, nowMs }
    case 'fed': {
      const position = state.position + step
      const asks = step > 0 && needsNewest(state, position)
      return {
        type,
        position,
        documents: step,
        isBehind: ahead > 0,
        newest: asks ? position + ahead : null,
        nowMs,
      }
    }
    case 'looked':
      return { type, position: anywhere, newest: needsNewest(state, anywhere) ? newest : null, nowMs }
    case 'rebuild':
      return { type, newest: ahead, nowMs }
    case 'failed':
      return { type, trouble: `trouble ${ahead}` }
    case 'outdated':
      return { type, why: `loss ${ahead}` }
    default:
      return { type }
  }
}

test('over any sequence of events, the table alone decides, and missing documents are reported', () => {
  const visited = new Set<string>()
  fc.assert(
    fc.property(fc.array(move, { minLength: 20, maxLength: 60, size: 'max' }), (moves) => {
      let state = startingState(null)
      let nowMs = 0
      let isElected = false
      /** The revision up to which documents are known to be missing from the index; 0 if none are. */
      let missingUntil = Number.POSITIVE_INFINITY
      for (const one of moves) {
        nowMs += one.waitMs
        // A stop ends everything, and most walks should be longer.
        if (one.type === 'stopped' && one.step > 0) continue
        const event = eventOf(state, one, nowMs)
        const before = state
        const to = (transitions[before.kind] as Partial<Record<FeederEvent['type'], FeederState['kind']>>)[event.type]
        if (to === undefined) {
          assert.throws(
            () => stateAfter(before, event),
            new RegExp(`the state ${before.kind} has no event ${event.type}`),
          )
          continue
        }
        state = stateAfter(before, event)
        visited.add(`${before.kind} ${event.type}`)
        assert.equal(state.kind, to)

        if (event.type === 'elected' || event.type === 'released') isElected = event.type === 'elected'
        assert.equal(isLeader(state), isElected && state.kind !== 'stopped')
        assert.ok(troubleOf(state) === null || isLeader(state), 'only a leader has a trouble with feeding')
        if (event.type === 'failed') assert.equal(troubleOf(state), event.trouble)
        if (event.type === 'fed') assert.equal(troubleOf(state), null)

        const hasGoneBack = state.position < before.position || event.type === 'rebuild'
        const isMeasured = before.coverage.kind === 'unchecked' || (event.type === 'opened' && isIncomplete(before))
        if ('newest' in event && event.newest !== null && (hasGoneBack || isMeasured)) missingUntil = event.newest
        // The index has everything, because the store may have less than before.
        const hasAll = event.type === 'looked' && event.newest !== null && event.position >= event.newest
        if (hasAll || (event.type === 'fed' && event.documents === 0)) missingUntil = 0
        if (!isIncomplete(state))
          assert.ok(
            state.position >= missingUntil,
            `it is at ${state.position} and misses documents up to ${missingUntil}`,
          )
        if (state.coverage.kind === 'refilling') assert.ok(state.position < state.coverage.until, 'nothing is missing')
        if (isIncomplete(state) && !isIncomplete(before)) assert.ok(hasGoneBack, 'only an index that went back loses')
        if (before.coverage.kind !== 'unchecked') assert.notEqual(state.coverage.kind, 'unchecked')
        if (state.kind === 'feeding' && state.completeAt > 0) assert.ok(state.completeAt <= state.position)
      }
      const stopped = stateAfter(state, { type: 'stopped' })
      assert.equal(stopped.kind, 'stopped')
      assert.deepEqual([isLeader(stopped), isIncomplete(stopped)], [false, isIncomplete(state)])
    }),
    { numRuns: casesOf(3000, 1000) },
  )
  const all = Object.entries(transitions).flatMap(([kind, row]) => Object.keys(row).map((type) => `${kind} ${type}`))
  assert.deepEqual([...visited].sort(), all.sort(), 'the walks have taken every transition')
})

test('the reason why an index is outdated survives failures until the rebuild, but not the loss of an election', () => {
  const events: FeederEvent[] = [
    { type: 'elected' },
    { type: 'outdated', why: 'lost' },
    { type: 'failed', trouble: 't' },
  ]
  const opening = events.reduce(stateAfter, startingState(null))
  assert.equal(opening.kind === 'opening' && opening.outdated, 'lost')
  const rebuilding = stateAfter(opening, { type: 'rebuild', newest: 3, nowMs: 0 })
  const failed = stateAfter(rebuilding, { type: 'failed', trouble: 'the disk is full' })
  assert.equal(failed.kind === 'opening' && failed.outdated, 'lost')
  const again = stateAfter(stateAfter(failed, { type: 'released' }), { type: 'elected' })
  assert.equal(again.kind === 'opening' && again.outdated, null)
  const opened = stateAfter(rebuilding, { type: 'opened', position: 0, newest: 3, nowMs: 0 })
  const exchanged = stateAfter(opened, { type: 'exchanged' })
  assert.equal(exchanged.kind === 'opening' && exchanged.outdated, null)
})
