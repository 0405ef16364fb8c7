import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnavailableError } from '../platform/errors.ts'
import type { AccessStore, KeyWithOwner } from './access-store.ts'
import { Authenticator } from './authenticator.ts'
import { hashKey, makeKey } from './keys.ts'

/** A store of keys that counts its calls and can be made to wait. */
function storeOf(keys: Map<string, KeyWithOwner>) {
  const state = { lookups: 0, gate: Promise.resolve() }
  const findKey = async (hash: string) => {
    state.lookups++
    const found = keys.get(hash) ?? null
    await state.gate
    return found
  }
  return { state, store: { findKey } as unknown as AccessStore }
}

function consumerKey(changes: Partial<KeyWithOwner> = {}): { secret: string; key: KeyWithOwner } {
  const { secret, hash } = makeKey('consumer')
  const owner = {
    kind: 'consumer',
    applicationId: 'app',
    name: 'A',
    policy: {},
    entitlements: [],
    entries: [],
    hiddenDatasets: [],
  } as const
  return { secret, key: { keyId: 'key', hash, expiresAt: null, revokedAt: null, owner, ...changes } }
}

test('a key is looked up once and then remembered for a moment, known or not', async () => {
  const { secret, key } = consumerKey()
  const { state, store } = storeOf(new Map([[key.hash, key]]))
  const authenticator = new Authenticator(store, [])
  for (let i = 0; i < 100; i++) assert.equal((await authenticator.identify(secret, 'consumer'))?.kind, 'consumer')
  assert.equal(state.lookups, 1)
  for (let i = 0; i < 100; i++) assert.equal(await authenticator.identify('tmc_unknown', 'consumer'), null)
  assert.equal(state.lookups, 2)
})

test('a wrong key returned by the store opens nothing, remembered or not', async () => {
  const { secret, key } = consumerKey({ hash: hashKey('another') })
  const { store } = storeOf(new Map([[hashKey(secret), key]]))
  const authenticator = new Authenticator(store, [])
  for (let i = 0; i < 2; i++) assert.equal(await authenticator.identify(secret, 'consumer'), null)
})

test('a key read before a change is not remembered after it', async () => {
  const { secret, key } = consumerKey()
  const keys = new Map([[key.hash, key]])
  const { state, store } = storeOf(keys)
  const authenticator = new Authenticator(store, [])
  let open = () => {}
  state.gate = new Promise((resolve) => {
    open = resolve
  })
  const before = authenticator.identify(secret, 'consumer')
  keys.set(key.hash, { ...key, revokedAt: 1 })
  authenticator.forget()
  open()
  assert.equal((await before)?.kind, 'consumer', 'the lookup started before the change')
  assert.equal(await authenticator.identify(secret, 'consumer'), null)
})

test('a key expires in the very millisecond that was set, remembered or not', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const { secret, key } = consumerKey({ expiresAt: 1_000_100 })
  const authenticator = new Authenticator(storeOf(new Map([[key.hash, key]])).store, [])
  assert.notEqual(await authenticator.identify(secret, 'consumer'), null)
  t.mock.timers.setTime(1_000_099)
  assert.notEqual(await authenticator.identify(secret, 'consumer'), null)
  t.mock.timers.setTime(1_000_100)
  assert.equal(await authenticator.identify(secret, 'consumer'), null)
})

test('a key in use is read again in the background, and its requests do not wait', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const { secret, key } = consumerKey()
  const keys = new Map([[key.hash, key]])
  const { state, store } = storeOf(keys)
  const authenticator = new Authenticator(store, [])
  assert.notEqual(await authenticator.identify(secret, 'consumer'), null)
  keys.set(key.hash, { ...key, revokedAt: 1 })
  t.mock.timers.setTime(1_000_400)
  const remembered = authenticator.identify(secret, 'consumer')
  assert.ok(remembered !== null && !(remembered instanceof Promise), 'the remembered key is still valid')
  assert.equal(state.lookups, 2)
  await new Promise(setImmediate)
  assert.equal(authenticator.identify(secret, 'consumer'), null, 'the result of the background read is remembered')
  assert.equal(state.lookups, 2)
})

test('a remembered key stays valid if it cannot be read again because too many unknown keys are looked up', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const { secret, key } = consumerKey()
  const { state, store } = storeOf(new Map([[key.hash, key]]))
  const authenticator = new Authenticator(store, [])
  assert.notEqual(await authenticator.identify(secret, 'consumer'), null)
  let open = () => {}
  state.gate = new Promise((resolve) => {
    open = resolve
  })
  const flood = Array.from({ length: 256 }, (_, i) => authenticator.identify(`tmc_unknown${i}`, 'consumer'))
  t.mock.timers.setTime(1_000_400)
  assert.ok(!(authenticator.identify(secret, 'consumer') instanceof Promise))
  await new Promise(setImmediate)
  open()
  await Promise.all(flood)
})

test('a failed background read fails only the next request that has to wait', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const { secret, key } = consumerKey()
  const { state, store } = storeOf(new Map([[key.hash, key]]))
  const authenticator = new Authenticator(store, [])
  assert.notEqual(await authenticator.identify(secret, 'consumer'), null)
  state.gate = Promise.reject(new Error('gone'))
  t.mock.timers.setTime(1_000_400)
  assert.notEqual(authenticator.identify(secret, 'consumer'), null)
  await new Promise(setImmediate)
  t.mock.timers.setTime(1_000_600)
  await assert.rejects(async () => authenticator.identify(secret, 'consumer'), /gone/)
})

test('a change by another process is seen within a second', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const { secret, key } = consumerKey()
  const keys = new Map([[key.hash, key]])
  const authenticator = new Authenticator(storeOf(keys).store, [])
  assert.notEqual(await authenticator.identify(secret, 'consumer'), null)
  keys.set(key.hash, { ...key, revokedAt: 1 })
  t.mock.timers.setTime(1_000_999)
  assert.equal(await authenticator.identify(secret, 'consumer'), null)
})

test('a monitoring key is valid while the store is unavailable, even just after a change', async () => {
  const { secret, key } = consumerKey()
  const keys = new Map([[key.hash, key]])
  const { store } = storeOf(keys)
  let isAway = false
  const authenticator = new Authenticator(
    {
      ...store,
      async findKey(hash: string) {
        if (isAway) throw new UnavailableError('away')
        return store.findKey(hash)
      },
    },
    [],
  )
  const monitors = () => authenticator.identifyForMonitoring(secret, 'consumer')
  assert.notEqual(await monitors(), null)
  isAway = true
  authenticator.forget()
  assert.notEqual(await monitors(), null)
  isAway = false
  keys.set(key.hash, { ...key, revokedAt: 1 })
  authenticator.forget()
  await settled()
  isAway = true
  authenticator.forget()
  assert.equal(await monitors(), null, 'the lookup after the change counts')
})

/** Resolves when all lookups that need not wait have finished. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a bounded number of wrong keys is remembered', async () => {
  const { state, store } = storeOf(new Map())
  const authenticator = new Authenticator(store, [])
  for (let i = 0; i < 25_000; i++) await authenticator.identify(`tmc_${i}`, 'consumer')
  assert.equal(state.lookups, 25_000)
  // The first keys were forgotten to make room, so they are looked up again.
  await authenticator.identify('tmc_0', 'consumer')
  assert.equal(state.lookups, 25_001)
})

const admin = { kind: 'admin', keyId: null, name: null, role: 'owner' } as const

test('the admin token and the keys open only their own paths, and others are not looked up', async () => {
  const { secret, key } = consumerKey()
  const { state, store } = storeOf(new Map([[key.hash, key]]))
  const authenticator = new Authenticator(store, [{ hash: hashKey('the admin token'), principal: admin }])
  assert.equal(await authenticator.identify('the admin token', 'admin'), admin)
  assert.equal(await authenticator.identify('the admin token', 'consumer'), null)
  assert.equal(await authenticator.identify(secret, 'admin'), null)
  assert.equal(await authenticator.identify(secret, 'collector'), null)
  assert.equal(state.lookups, 0)
})

test('concurrent requests for the same key share one lookup', async () => {
  const { secret, key } = consumerKey()
  const { state, store } = storeOf(new Map([[key.hash, key]]))
  const authenticator = new Authenticator(store, [])
  const answers = await Promise.all(Array.from({ length: 50 }, () => authenticator.identify(secret, 'consumer')))
  assert.ok(answers.every((principal) => principal?.kind === 'consumer'))
  assert.equal(state.lookups, 1)
})

test('a flood of different wrong keys causes a bounded number of lookups and does not affect a known key', async () => {
  const { secret, key } = consumerKey()
  const { state, store } = storeOf(new Map([[key.hash, key]]))
  const authenticator = new Authenticator(store, [])
  await authenticator.identify(secret, 'consumer')
  const { promise, resolve: open } = Promise.withResolvers<void>()
  state.gate = promise
  const flood = Array.from({ length: 1000 }, (_, i) => authenticator.identify(`tmc_${i}`, 'consumer'))
  assert.ok(state.lookups < 300, `${state.lookups} at once`)
  assert.equal((await authenticator.identify(secret, 'consumer'))?.kind, 'consumer')
  open()
  const results = await Promise.allSettled(flood)
  for (const one of results) {
    if (one.status === 'fulfilled') assert.equal(one.value, null)
    else assert.equal(one.reason.code, 'overloaded')
  }
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, state.lookups - 1)
  assert.equal(await authenticator.identify('tmc_999', 'consumer'), null)
})
