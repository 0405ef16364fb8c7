import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { BruteForceIndex } from '../../test/contracts/brute-force-index.ts'
import { FairSlots } from '../fair-queue/fair-slots.ts'
import { UnavailableError } from '../platform/errors.ts'
import { listValues, type ValuesParts } from './list-values.ts'
import type { ValuesOutcome } from './search-index.ts'

const asked = { scope: { entries: [] }, field: 'topics', prefix: '', after: null, limit: 5 } as const
const caller = { id: 'app', signal: new AbortController().signal }

/** An index with given answers. */
class Answering extends BruteForceIndex {
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
  turns: new FairSlots(1),
  isRefilling: () => false,
  isBehind: () => false,
  ...more,
})

suite('listing values', () => {
  test('what the index says; its turn is over afterwards, whatever it says', async () => {
    const turns = new FairSlots(1)
    const outcomes: ValuesOutcome[] = [
      { outcome: 'timed_out' },
      { outcome: 'unavailable', reason: 'closed' },
      { outcome: 'found', values: [{ value: 'x', count: 1 }], next: null },
    ]
    for (const outcome of outcomes) {
      const listed = listValues(partsOf({ turns, index: new Answering(outcome) }), asked, caller)
      if (outcome.outcome === 'found') assert.deepEqual(await listed, outcome)
      else await assert.rejects(listed, UnavailableError)
    }
  })

  test('counts of an index that lacks documents would be too low: there are none', async () => {
    for (const lack of ['isRefilling', 'isBehind']) {
      await assert.rejects(listValues(partsOf({ [lack]: () => true }), asked, caller), UnavailableError)
    }
  })

  test('who goes away is not answered', async () => {
    const gone = AbortSignal.abort(new Error('gone'))
    await assert.rejects(listValues(partsOf(), asked, { id: 'app', signal: gone }), /gone/)
  })
})
