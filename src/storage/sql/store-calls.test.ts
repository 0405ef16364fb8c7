import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remoteStore } from './remote-store.ts'
import { namedCalls, type StoreCalls, storeCalls } from './store-calls.ts'

const { commit: _, ...withoutCommit } = storeCalls.operator

test('a missing or misnamed call fails the type check', () => {
  // The compiler proves it: an expected error that does not occur is itself an error.
  const tables: StoreCalls[] = [
    storeCalls,
    // @ts-expect-error a port's call is missing
    { ...storeCalls, operator: withoutCommit },
    // @ts-expect-error no port has such a call
    { ...storeCalls, content: { ...storeCalls.content, ingestAll: 'reads' } },
    // @ts-expect-error there is no such lock
    { ...storeCalls, content: { ...storeCalls.content, ingest: { locks: ['contents'] } } },
    // @ts-expect-error a write without a lock
    { ...storeCalls, content: { ...storeCalls.content, ingest: { locks: [] } } },
  ]
  assert.equal(tables.length, 5)
})

test('locks that are taken together are always taken in the same order', () => {
  const pairs = namedCalls.flatMap(({ write }) =>
    (write?.locks ?? []).flatMap((first, i) => write!.locks.slice(i + 1).map((second) => [first, second] as const)),
  )
  assert.ok(pairs.length > 0)
  for (const [first, second] of pairs) {
    assert.ok(!pairs.some(([a, b]) => a === second && b === first), `${first} and ${second} are taken in both orders`)
    assert.notEqual(first, second)
  }
})

test('a remote store passes on every call with its name and its declaration', async () => {
  const store = remoteStore(async ({ port, method, write }, args) => ({ port, method, locks: write?.locks, args }))
  assert.deepEqual(await store.content.ingest([], 5), {
    port: 'content',
    method: 'ingest',
    locks: ['content'],
    args: [[], 5],
  })
  assert.deepEqual(await store.access.findKey('hash'), {
    port: 'access',
    method: 'findKey',
    locks: undefined,
    args: ['hash'],
  })
  assert.deepEqual(Object.keys(store).sort(), Object.keys(storeCalls).sort())
})
