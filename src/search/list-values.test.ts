import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { BruteForceIndex } from '../../test/contracts/brute-force-index.ts'
import { FairSlots } from '../fair-queue/fair-slots.ts'
import { UnavailableError } from '../platform/errors.ts'
import { listValues, type ValuesParts } from './list-values.ts'
import type { ValuesOutcome } from './search-index.ts'

const request = { scope: { entries: [] }, field: 'topics', prefix: '', after: null, limit: 5 } as const
const caller = { id: 'app', signal: new AbortController().signal }

/** An index whose `values` returns a given outcome. */
class IndexWithOutcome extends BruteForceIndex {
  readonly #outcome: ValuesOutcome

  constructor(outcome: ValuesOutcome) {
    super()
    this.#outcome = outcome
  }

  override async values(): Promise<ValuesOutcome> {
    return this.#outcome
  }
}

const partsOf = (more: Partial<ValuesParts> = {}): ValuesParts => ({
  index: new BruteForceIndex(),
  slots: new FairSlots(1),
  isRefilling: () => false,
  isBehind: () => false,
  ...more,
})

suite('listing values', () => {
  test('returns the outcome of the index, and releases its slot after every outcome', async () => {
    const slots = new FairSlots(1)
    const outcomes: ValuesOutcome[] = [
      { outcome: 'timed_out' },
      { outcome: 'unavailable', reason: 'closed' },
      { outcome: 'found', values: [{ value: 'x', count: 1 }], next: null },
    ]
    for (const outcome of outcomes) {
      const listed = listValues(partsOf({ slots, index: new IndexWithOutcome(outcome) }), request, caller)
      if (outcome.outcome === 'found') assert.deepEqual(await listed, outcome)
      else await assert.rejects(listed, UnavailableError)
    }
  })

  test('rejects while the index is incomplete, because counts would be too low', async () => {
    for (const state of ['isRefilling', 'isBehind']) {
      await assert.rejects(listValues(partsOf({ [state]: () => true }), request, caller), UnavailableError)
    }
  })

  test('rejects if the client has disconnected', async () => {
    const gone = AbortSignal.abort(new Error('gone'))
    await assert.rejects(listValues(partsOf(), request, { id: 'app', signal: gone }), /gone/)
  })
})
