import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { AccessStore } from '../../src/access/access-store.ts'
import { makeSigningKey } from '../../src/cursors.ts'
import type { Change, OperatorStore } from '../../src/operator/operator-store.ts'

/** What every store of keys, limits and signing keys keeps, however many ask at once. */
export function checkAccessStore(
  name: string,
  open: () => Promise<{ readonly access: AccessStore; readonly operator: OperatorStore; close(): Promise<void> }>,
): void {
  suite(`access store: ${name}`, () => {
    const withStore = async (work: (access: AccessStore, operator: OperatorStore) => Promise<void>): Promise<void> => {
      const { access, operator, close } = await open()
      await work(access, operator).finally(close)
    }
    const take = { applicationId: 'app', operation: 'search', day: '2026-11-15', limit: 10 }

    test('a key has an owner of any kind; one of a kind that is not known opens nothing, and is kept all the same', () =>
      withStore(async (access, operator) => {
        const mark = { actor: 'test', at: 1 }
        const keyOf = (kind: string, id: string, rights: Record<string, unknown> | null = null): Change => {
          const shown = { name: null, prefix: 'tm', expiresAt: null }
          return {
            kind: 'key.create',
            keyId: `key_${kind}`,
            owner: { kind, id },
            rights,
            hash: `hash of ${kind}`,
            ...shown,
          }
        }
        await operator.commit(
          [
            { kind: 'application.create', applicationId: 'app', name: 'A', policy: {} },
            { kind: 'collector.create', collectorId: 'col', name: 'C', datasets: ['d'] },
            keyOf('consumer', 'app'),
            keyOf('collector', 'col'),
            keyOf('of-a-newer-version', 'itself', { role: 'viewer' }),
          ],
          mark,
        )
        const foundOwner = async (kind: string) => (await access.findKey(`hash of ${kind}`))?.owner ?? null
        assert.deepEqual(await foundOwner('consumer'), {
          kind: 'consumer',
          applicationId: 'app',
          name: 'A',
          policy: {},
          entitlements: [],
          entries: [],
          hiddenDatasets: [],
        })
        assert.deepEqual(await foundOwner('collector'), {
          kind: 'collector',
          collectorId: 'col',
          name: 'C',
          datasets: ['d'],
        })
        assert.equal(await foundOwner('of-a-newer-version'), null)

        const listed = async (of: { ownerId?: string }) =>
          (await operator.keys(of)).map(({ keyId, owner, rights }) => [keyId, owner.kind, owner.id, rights])
        assert.deepEqual(await listed({}), [
          ['key_collector', 'collector', 'col', null],
          ['key_consumer', 'consumer', 'app', null],
          ['key_of-a-newer-version', 'of-a-newer-version', 'itself', { role: 'viewer' }],
        ])
        assert.deepEqual(await listed({ ownerId: 'col' }), [['key_collector', 'collector', 'col', null]])
        assert.deepEqual(await listed({ ownerId: 'itself' }), (await listed({})).slice(2))
        await operator.commit([{ kind: 'key.revoke', keyId: 'key_of-a-newer-version' }], { ...mark, at: 2 })
        assert.equal((await operator.key('key_of-a-newer-version'))?.revokedAt, 2)

        await assert.rejects(operator.commit([keyOf('consumer', 'nobody')], mark), /there is no application "nobody"/)
        await assert.rejects(operator.commit([keyOf('collector', 'app')], mark), /there is no collector "app"/)
      }))

    test('of racing takes of a quota exactly the limit is given', () =>
      withStore(async (access) => {
        const taken = await Promise.all(Array.from({ length: 40 }, () => access.takeQuota([take])))
        assert.equal(taken.filter(([one]) => one!.taken).length, 10)
        assert.deepEqual(await access.takeQuota([take, { ...take, operation: 'other', limit: 0 }]), [
          { taken: false, used: 10 },
          { taken: false, used: 0 },
        ])
        assert.deepEqual(await access.usageOf('app', take.day), [
          { operation: 'other', used: 0 },
          { operation: 'search', used: 10 },
        ])
      }))

    test('of racing takes of tokens exactly what the bucket holds, and it fills as time goes by', () =>
      withStore(async (access) => {
        const rate = { perSecond: 2, burst: 20 }
        const now = 1_800_000_000_000
        const take = async (name: string, wanted: number, at: number) =>
          (await access.takeTokens([{ name, rate, wanted }], at))[0]!
        const taken = await Promise.all(Array.from({ length: 15 }, () => take('a', 2, now)))
        assert.equal(
          taken.reduce((sum, { granted }) => sum + granted, 0),
          20,
        )
        assert.deepEqual(await take('a', 5, now + 1000), { granted: 2, left: 0 })
        // Another process's clock may be behind: no time is counted twice.
        assert.deepEqual(await take('a', 5, now), { granted: 0, left: 0 })
        assert.deepEqual(await take('a', 5, now + 1500), { granted: 1, left: 0 })
        assert.deepEqual(await take('b', 1, now), { granted: 1, left: 19 })
        const later = now + 3_600_000
        assert.deepEqual(await take('a', 100, later), { granted: 20, left: 0 })
        const both = ['a', 'c'].map((name) => ({ name, rate, wanted: 3 }))
        assert.deepEqual(await access.takeTokens(both, later), [
          { granted: 0, left: 0 },
          { granted: 3, left: 17 },
        ])
      }))

    test('ahead of requests no more than half of what is left is taken, and what comes back is there again', () =>
      withStore(async (access) => {
        const rate = { perSecond: 2, burst: 20 }
        const now = 1_800_000_000_000
        const take = async (numbers: { wanted: number; ahead?: number; returned?: number }) =>
          (await access.takeTokens([{ name: 'a', rate, ...numbers }], now))[0]!
        assert.deepEqual(await take({ wanted: 4, ahead: 5 }), { granted: 9, left: 11 })
        assert.deepEqual(await take({ wanted: 1, ahead: 50 }), { granted: 6, left: 5 })
        assert.deepEqual(await take({ wanted: 8, ahead: 8 }), { granted: 5, left: 0 })
        assert.deepEqual(await take({ wanted: 0, returned: 7 }), { granted: 0, left: 7 })
        assert.deepEqual(await take({ wanted: 6, returned: 1 }), { granted: 6, left: 2 })
        // A bucket is never fuller than full.
        assert.deepEqual(await take({ wanted: 0, returned: 100 }), { granted: 0, left: 20 })
      }))

    test('racing processes agree on one signing key', () =>
      withStore(async (access) => {
        const added = await Promise.all(
          Array.from({ length: 5 }, (_, i) => access.addSigningKey(makeSigningKey(1000 + i), true)),
        )
        assert.equal(new Set(added.map((keys) => JSON.stringify(keys))).size, 1)
        assert.equal((await access.signingKeys()).length, 1)
      }))
  })
}
