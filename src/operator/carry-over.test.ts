import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { type Access, carryOver, isValid } from './carry-over.ts'
import type { Application, Change, Collector, Key } from './operator-store.ts'

const now = 1000
const none: Access = { applications: [], collectors: [], keys: [], signingKeyIds: [] }
const key = (keyId: string, ends: Partial<Key> = {}): Key => ({
  keyId,
  owner: { kind: 'consumer', id: 'app' },
  rights: null,
  name: null,
  prefix: 'tmc_',
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
  ...ends,
})
const application = (applicationId: string, rights: Partial<Application> = {}): Application => ({
  applicationId,
  name: applicationId,
  policy: {},
  entitlements: [],
  createdAt: 1,
  updatedAt: 1,
  ...rights,
})
const collector = (collectorId: string, datasets: readonly string[] | null): Collector => ({
  collectorId,
  name: collectorId,
  datasets,
  createdAt: 1,
})

/** The keys after the changes. */
function restored(keys: readonly Key[], changes: readonly Change[]): Key[] {
  return keys.map((one) => {
    let after = one
    for (const change of changes) {
      if (change.kind === 'key.revoke' && change.keyId === one.keyId) after = { ...after, revokedAt: now }
      if (change.kind === 'key.expire' && change.keyId === one.keyId) after = { ...after, expiresAt: change.expiresAt }
    }
    return after
  })
}

const ids = (keys: readonly Key[]) => keys.map(({ keyId }) => keyId)

suite('carrying over access in a restore', () => {
  const time = fc.option(fc.integer({ min: 900, max: 1100 }))
  const keys = fc.uniqueArray(
    fc
      .record({ keyId: fc.constantFrom(...'abcdefgh'), expiresAt: time, revokedAt: time })
      .map((one) => key(one.keyId, one)),
    { selector: ({ keyId }) => keyId },
  )

  test('a restored key is never valid for longer than in the backup, nor than in the replaced instance', () => {
    fc.assert(
      fc.property(keys, keys, (instance, backup) => {
        const { changes, carried } = carryOver({ ...none, keys: instance }, { ...none, keys: backup }, now)
        for (const after of restored(backup, changes)) {
          const before = instance.find(({ keyId }) => keyId === after.keyId)
          const stored = backup.find(({ keyId }) => keyId === after.keyId)!
          for (const at of [now, now + 50, now + 99, now + 200]) {
            const expected = isValid(stored, at) && (before === undefined || isValid({ ...before }, at))
            assert.equal(isValid(after, at), expected, `${after.keyId} at ${at}`)
          }
        }
        // Every key that is valid in one of the two is listed, unless its validity is unchanged.
        const named = [carried.keptRevoked, carried.keptEarlierExpiry, carried.revivedKeys, carried.lostKeys].map(ids)
        assert.equal(new Set(named.flat()).size, named.flat().length, 'each once')
        for (const one of backup.filter((stored) => isValid(stored, now))) {
          const before = instance.find(({ keyId }) => keyId === one.keyId)
          const list = before === undefined ? 2 : !isValid(before, now) ? 0 : null
          if (list !== null) assert.ok(named[list]!.includes(one.keyId), `${one.keyId} is not named`)
        }
      }),
    )
  })

  test('two equal states need no changes and no report', () => {
    const same: Access = {
      applications: [application('app')],
      collectors: [collector('col', ['d'])],
      keys: [key('a'), key('b', { revokedAt: 5 }), key('c', { expiresAt: 5 })],
      signingKeyIds: ['s'],
    }
    const { changes, carried } = carryOver(same, same, now)
    assert.deepEqual(changes, [])
    for (const list of Object.values(carried)) assert.ok(list === 0 || (Array.isArray(list) && list.length === 0))
  })

  test('applications and collectors that come back, or have other rights, are reported', () => {
    const entry = (entitlement_id: string, datasets: string[]) => ({ entitlement_id, datasets })
    const { changes, carried } = carryOver(
      {
        ...none,
        applications: [
          application('same', { entitlements: [entry('ent_1', ['d'])] }),
          application('policy'),
          application('both', { entitlements: [entry('ent_1', ['d'])] }),
          application('new'),
        ],
        collectors: [collector('narrowed', ['d']), collector('kept', null)],
        signingKeyIds: ['new'],
      },
      {
        ...none,
        applications: [
          application('same', { entitlements: [entry('ent_2', ['d'])] }),
          application('policy', { policy: { burst: 5 } }),
          application('both', { policy: { burst: 5 }, entitlements: [entry('ent_1', ['d', 'e'])] }),
          application('old'),
        ],
        collectors: [collector('narrowed', null), collector('kept', null), collector('old', null)],
        signingKeyIds: ['old', 'new'],
      },
      now,
    )
    assert.deepEqual(changes, [])
    assert.deepEqual(
      carried.revivedApplications.map((one) => one.applicationId),
      ['old'],
    )
    assert.deepEqual(
      carried.revivedCollectors.map((one) => one.collectorId),
      ['old'],
    )
    assert.deepEqual(carried.changed, [
      { id: 'policy', name: 'policy', what: ['policy'] },
      { id: 'both', name: 'both', what: ['policy', 'entitlements'] },
      { id: 'narrowed', name: 'narrowed', what: ['datasets'] },
    ])
    assert.equal(carried.revivedSigningKeys, 1)
  })
})
