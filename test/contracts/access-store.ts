import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { AccessStore } from '../../src/access/access-store.ts'
import type { Change, OperatorStore } from '../../src/operator/operator-store.ts'
import { makeSigningKey } from '../../src/platform/cursors.ts'

/** The contract of every store of keys, limits and signing keys, also with concurrent calls. */
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
        const take = (names: string, at: number) =>
          access.takeTokens(
            Array.from(names, (name) => ({ name, rate })),
            at,
          )
        const taken = (await Promise.all(Array.from({ length: 15 }, () => take('aa', now)))).flat()
        assert.equal(taken.filter((one) => one.taken).length, 20)
        const [yes, no] = [
          { taken: true, left: 0 },
          { taken: false, left: 0 },
        ]
        assert.deepEqual(await take('aaa', now + 1000), [{ taken: true, left: 1 }, yes, no])
        // Another process's clock may be behind. No time is counted twice.
        assert.deepEqual(await take('a', now), [no])
        assert.deepEqual(await take('aa', now + 1500), [yes, no])
        assert.deepEqual(await take('b', now), [{ taken: true, left: 19 }])
        const later = now + 3_600_000
        const full = await take('a'.repeat(21), later)
        assert.deepEqual(
          full.map(({ left }) => left),
          [...Array.from({ length: 20 }, (_, i) => 19 - i), 0],
        )
        assert.deepEqual(await take('aca', later), [no, { taken: true, left: 19 }, no])
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
