import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { casesOf } from '../../test/support/cases.ts'
import type { CopiedDocument, CopyPosition } from './copy.ts'
import { type CopyEvent, type CopyState, pendingOf, stateAfter, stateAt, transitions } from './keep-copy-state.ts'

const eventTypes = [...new Set(Object.values(transitions).flatMap((row) => Object.keys(row)))] as CopyEvent['type'][]

const positionAt = (changesCursor: string | null): CopyPosition => ({
  applicationId: 'app',
  entitlements: 'all',
  exportCursor: null,
  exportedThrough: '',
  changesCursor,
})

const move = fc.record({
  type: fc.constantFrom(...eventTypes, 'exported' as const),
  ids: fc.array(fc.constantFrom('doc_1', 'doc_2', 'doc_3'), { maxLength: 2 }),
  isRefused: fc.boolean(),
})

function eventOf(
  { type, ids, isRefused }: typeof move extends fc.Arbitrary<infer T> ? T : never,
  step: number,
): CopyEvent {
  switch (type) {
    case 'exported':
      return { type, position: positionAt(`${step}`) }
    case 'read':
      return { type, cursor: `${step}`, documents: new Map(ids.map((id) => [id, { id } as CopiedDocument])) }
    case 'entitled':
      return { type, nowMs: step }
    case 'restarted':
      return { type, position: positionAt(null), isRefused, nowMs: step }
    default:
      return { type }
  }
}

test('over any sequence of events, the table alone decides, and no step loses a document that was read', () => {
  const visited = new Set<string>()
  fc.assert(
    fc.property(fc.boolean(), fc.array(move, { minLength: 10, maxLength: 50, size: 'max' }), (isNew, moves) => {
      let state: CopyState = stateAt(positionAt(isNew ? null : '0'), 0)
      const unsaved = new Set<string>()
      let wasRefused = false
      for (const [step, one] of moves.entries()) {
        const event = eventOf(one, step + 1)
        const before = state
        const to = (transitions[before.kind] as Partial<Record<CopyEvent['type'], CopyState['kind']>>)[event.type]
        if (to === undefined || (event.type === 'caught_up' && unsaved.size > 0)) {
          assert.throws(() => stateAfter(before, event), /^Error: mirror: /)
          continue
        }
        state = stateAfter(before, event)
        visited.add(`${before.kind} ${event.type}`)
        assert.equal(state.kind, to)

        if (event.type === 'read') for (const id of event.documents.keys()) unsaved.add(id)
        if (event.type === 'saved' || event.type === 'restarted') unsaved.clear()
        assert.deepEqual([...pendingOf(state).keys()], [...unsaved])

        if (event.type === 'restarted') wasRefused ||= event.isRefused
        if (event.type === 'read') wasRefused = false
        assert.equal(state.wasRefused, wasRefused)
        // The feed is read from a cursor; an export starts without one.
        assert.equal(state.position.changesCursor === null, state.kind === 'exporting')
        assert.ok(state.checkedAtMs >= before.checkedAtMs)
      }
    }),
    { numRuns: casesOf(1000, 300) },
  )
  const all = Object.entries(transitions).flatMap(([kind, row]) => Object.keys(row).map((type) => `${kind} ${type}`))
  assert.deepEqual([...visited].sort(), all.sort(), 'the walks have taken every transition')
})
