import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { TidemarkError } from '../platform/errors.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { OpenStore } from '../storage/open-store.ts'
import { openSqliteStore } from '../storage/sqlite/open-sqlite-store.ts'
import type { AccessStore } from './access-store.ts'
import type { Policy } from './policy.ts'
import type { Consumer } from './principal.ts'
import { UsageBook } from './usage-book.ts'

/** With the real store, because the exact limit depends on both. */
const folder = mkdtempSync(join(tmpdir(), 'tidemark-usage-'))
let open: OpenStore

before(async () => {
  open = await openSqliteStore(folder)
})
after(async () => {
  await open.close()
  rmSync(folder, { recursive: true })
})

const consumer = (applicationId: string, policy: Policy = {}): Consumer => ({
  kind: 'consumer',
  keyId: 'key',
  applicationId,
  name: 'A',
  policy,
  entitlements: [],
  entries: [],
  hiddenDatasets: [],
})

/** The real store with one method that fails while `broken` returns true. */
const failing = (
  method: keyof AccessStore,
  broken: () => boolean,
  error = new Error('broken'),
  of: AccessStore = open.store.access,
): AccessStore =>
  new Proxy(of, {
    get: (target, name) =>
      name === method && broken() ? () => Promise.reject(error) : target[name as keyof AccessStore],
  })

const noError: Incidents = { failed: (job, error) => assert.fail(`${job}: ${error}`), worked: () => {} }
const now = Date.UTC(2026, 10, 15, 12)

test('1,000 racing takes of 100 units: exactly 100 get one', async () => {
  const book = new UsageBook(open.store.access, noError)
  const limited = consumer('race', { daily_quotas: { changes: 100 } })
  const takes = await Promise.all(Array.from({ length: 1000 }, () => book.take(limited, 'changes.read', now)))
  assert.equal(takes.filter(({ taken }) => taken).length, 100)
  const refused = takes.find((one) => !one.taken)
  assert.ok(refused !== undefined && !refused.taken && refused.retryAfterSeconds === 12 * 3600)
  assert.deepEqual(await book.today('race', now), { 'changes.read': 100 })
  await book.close()
})

test('two books, as in two processes, race for the same units: still exactly 100', async () => {
  const other = await openSqliteStore(folder)
  const books = [new UsageBook(open.store.access, noError), new UsageBook(other.store.access, noError)]
  const limited = consumer('two', { daily_quotas: { changes: 100 } })
  const takes = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => books[i % 2]!.take(limited, 'changes.read', now)),
  )
  assert.equal(takes.filter(({ taken }) => taken).length, 100)
  for (const book of books) await book.close()
  await other.close()
})

test('units are counted by day, operation and application', async () => {
  const book = new UsageBook(open.store.access, noError)
  const limited = consumer('day', { daily_quotas: { changes: 1, search: 1 } })
  assert.equal((await book.take(limited, 'changes.read', now)).taken, true)
  assert.equal((await book.take(limited, 'changes.read', now)).taken, false)
  assert.equal((await book.take(limited, 'changes.read', now + 86_400_000)).taken, true)
  assert.equal((await book.take(consumer('day 2', limited.policy), 'changes.read', now)).taken, true)
  assert.equal((await book.take(consumer('day', { daily_quotas: { changes: 0 } }), 'changes.read', now)).taken, false)
  await book.close()
})

test('use without a limit is counted too, and reported exactly before, during and after its write', async () => {
  const book = new UsageBook(open.store.access, noError)
  const free = consumer('free')
  for (let i = 1; i <= 300; i++) {
    await book.take(free, 'account.read', now)
    if (i % 7 === 0) void book.flush()
    assert.deepEqual(await book.today('free', now), { 'account.read': i })
  }
  await book.close()
  const again = new UsageBook(open.store.access, noError)
  assert.deepEqual(await again.today('free', now), { 'account.read': 300 })
  await again.close()
})

test('the first counts are written within a second, and later ones ten seconds after them', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const book = new UsageBook(open.store.access, noError)
  let at = now
  /** Returns how many are written after so many more seconds, with one counted in each second. */
  const writtenAfter = async (seconds: number): Promise<number> => {
    for (let i = 0; i < seconds; i++) {
      book.count('resting', 'account.read', now)
      t.mock.timers.tick(1000)
      at += 1500
      // A count this old is read again, after the current write has ended.
      await book.today('resting', at)
    }
    return (await open.store.access.usageOf('resting', '2026-11-15'))[0]?.used ?? 0
  }
  assert.equal(await writtenAfter(1), 1)
  assert.equal(await writtenAfter(9), 1)
  assert.equal(await writtenAfter(1), 11)
  await book.close()
})

test('counts that could not be written are kept, reported, and written later', async () => {
  let broken = true
  const errors: unknown[] = []
  const access = failing('recordUse', () => broken)
  const book = new UsageBook(access, { failed: (_, error) => errors.push(error), worked: () => {} })
  await book.take(consumer('kept'), 'account.read', now)
  await book.flush()
  await book.take(consumer('kept'), 'account.read', now)
  await book.flush()
  assert.equal(errors.length, 2)
  assert.deepEqual(await book.today('kept', now), { 'account.read': 2 })
  broken = false
  await book.close()
  assert.deepEqual(await open.store.access.usageOf('kept', '2026-11-15'), [{ operation: 'account.read', used: 2 }])
})

test('a take that fails in the store rejects and takes no unit', async () => {
  let broken = true
  const access = failing('takeQuota', () => broken)
  const book = new UsageBook(access, noError)
  const limited = consumer('failing', { daily_quotas: { changes: 1 } })
  await assert.rejects(book.take(limited, 'changes.read', now), /broken/)
  broken = false
  assert.equal((await book.take(limited, 'changes.read', now)).taken, true)
  await book.close()
})

test('while the store is full, units are still taken up to the limit, and written when there is room', async () => {
  let full = true
  const isFull = () => full
  const error = new TidemarkError('storage_full', 'full')
  const access = failing('takeQuota', isFull, error, failing('recordUse', isFull, error))
  const book = new UsageBook(access, { failed: () => {}, worked: () => {} })
  await open.store.access.takeQuota([
    { applicationId: 'full', operation: 'search.default', day: '2026-11-15', limit: 5 },
  ])
  const limited = consumer('full', { daily_quotas: { search: 5 } })
  const taken = await Promise.all(Array.from({ length: 8 }, () => book.take(limited, 'search.default', now)))
  assert.equal(taken.filter((one) => one.taken).length, 4)
  await book.flush()
  assert.equal((await book.take(limited, 'search.default', now)).taken, false)
  full = false
  assert.equal((await book.take(limited, 'search.default', now)).taken, false)
  assert.deepEqual(await open.store.access.usageOf('full', '2026-11-15'), [{ operation: 'search.default', used: 5 }])
  await book.close()
})
