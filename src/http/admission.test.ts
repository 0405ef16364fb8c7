import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Admission } from './admission.ts'
import { Permits, PermitsByCaller } from './permits.ts'

/** A request of `caller` with a slot and a permit, and whether it still has them. */
function admitted() {
  const slots = new PermitsByCaller()
  const permits = new Permits(1)
  const admission = new Admission()
  assert.ok(admission.takeSlot(slots.take('caller', 1)))
  assert.ok(admission.takePermit(permits))
  const held = () => ({ slot: slots.take('caller', 1) === null, permit: permits.taken === 1 })
  assert.deepEqual(held(), { slot: true, permit: true })
  return { admission, held }
}

test('a client that disconnects does not end the work: its permit and slot are held until the handler ends', () => {
  const { admission, held } = admitted()
  admission.workStarts()
  admission.requestEnds()
  assert.deepEqual(held(), { slot: true, permit: true })
  admission.workEnds()
  assert.deepEqual(held(), { slot: false, permit: false })
})

test('a client that reads its answer slowly holds its own slot, and no permit', () => {
  const { admission, held } = admitted()
  admission.workStarts()
  admission.workEnds()
  assert.deepEqual(held(), { slot: true, permit: false })
  admission.requestEnds()
  assert.deepEqual(held(), { slot: false, permit: false })
})

test('a request that is refused before its handler releases both when it is answered', () => {
  const { admission, held } = admitted()
  admission.requestEnds()
  assert.deepEqual(held(), { slot: false, permit: false })
})

test('a request that only waits holds no permit, and its end does not release one that another request took since', () => {
  const permits = new Permits(1)
  const waiting = new Admission()
  waiting.takePermit(permits)
  waiting.workStarts()
  waiting.releasePermit()
  assert.ok(new Admission().takePermit(permits))
  waiting.workEnds()
  waiting.requestEnds()
  assert.equal(permits.taken, 1)
})

test('a request that has ended keeps no slot and gets no permit', () => {
  const slots = new PermitsByCaller()
  const permits = new Permits(1)
  const admission = new Admission()
  admission.requestEnds()
  admission.takeSlot(slots.take('caller', 1))
  assert.ok(slots.take('caller', 1) !== null)
  assert.throws(() => admission.takePermit(permits), { code: 'client_closed_request' })
  assert.equal(permits.taken, 0)
})
