import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  entitlementFault,
  policyFault,
  roleFault,
  storedDatasets,
  storedEntitlement,
  storedPolicy,
  storedRole,
  UnreadableRights,
} from './stored-rights.ts'

const whole = {
  datasets: ['news'],
  platforms: ['rss'],
  languages: ['en'],
  regions: ['GB'],
  published_from: '2026-01-01T00:00:00Z',
  published_to: '2026-02-01T00:00:00Z',
  fields: ['title', 'body'],
}

test('stored rights are read unchanged', () => {
  const policy = {
    analysis_enabled: true,
    requests_per_second: 0.5,
    daily_quotas: { search: 5 },
    live: { enabled: true },
    analysis: { max_input_chunks: 7 },
  }
  assert.deepEqual(storedPolicy(JSON.stringify(policy), 'app'), policy)
  assert.deepEqual(storedPolicy('{}', 'app'), {})
  assert.deepEqual(storedEntitlement(JSON.stringify(whole), 'ent'), whole)
  assert.deepEqual(storedDatasets('["a","b"]', 'col'), ['a', 'b'])
  assert.equal(storedDatasets(null, 'col'), null)
})

test('values outside the current bounds are accepted, because the bounds may have changed', () => {
  assert.equal(policyFault({ requests_per_second: 1e9, burst: 0 }), null)
  assert.equal(entitlementFault({ datasets: [], languages: ['english'], fields: ['colour'] }), null)
})

test('each fault is named, and an unreadable value never means "any"', () => {
  const entitlements: [unknown, string][] = [
    [{ ...whole, published_from: 'yesterday' }, 'published_from is not a time'],
    [{ ...whole, published_to: null }, 'published_to is not a string'],
    [{ ...whole, platforms: null }, 'platforms is not a list'],
    [{ ...whole, languages: 'en' }, 'languages is not a list'],
    [{ ...whole, regions: [null] }, 'regions.0 is not a string'],
    [{ ...whole, fields: { body: true } }, 'fields is not a list'],
    [{ ...whole, authors: ['x'] }, 'authors is not known to this version'],
    [JSON.parse('{"datasets":["a"],"__proto__":{}}'), '__proto__ is not known to this version'],
    [{ datasets: ['a'], toString: 'x' }, 'toString is not known to this version'],
    [{ platforms: ['rss'] }, 'datasets is missing'],
    [[], 'it is not an object'],
    [null, 'it is not an object'],
    ['news', 'it is not an object'],
  ]
  for (const [value, fault] of entitlements) {
    assert.equal(entitlementFault(value), fault)
    assert.throws(() => storedEntitlement(JSON.stringify(value), 'ent_1'), UnreadableRights)
  }
  const policies: [unknown, string][] = [
    [{ analysis_enabled: 'false' }, 'analysis_enabled is neither true nor false'],
    [{ burst: '5' }, 'burst is not a number'],
    [{ daily_quotas: { search: null } }, 'daily_quotas.search is not a number'],
    [{ daily_quotas: { baking: 5 } }, 'daily_quotas.baking is not known to this version'],
    [{ live: [] }, 'live is not an object'],
  ]
  for (const [value, fault] of policies) assert.equal(policyFault(value), fault)
  for (const json of ['', '{', 'null', '"news"', '[1]', '{}']) {
    assert.throws(() => storedDatasets(json, 'col_1'), /datasets of col_1 in the store cannot be read/)
  }
  assert.equal(roleFault({ role: 'operator' }), null)
  const roles: [unknown, string][] = [
    [null, 'it is not an object'],
    [{}, 'role is missing'],
    [{ role: null }, 'role is not a string'],
    [{ role: 'emperor' }, 'role is not known to this version'],
    [{ role: 'owner', of: ['news'] }, 'of is not known to this version'],
  ]
  for (const [value, fault] of roles) {
    assert.equal(roleFault(value), fault)
    assert.throws(() => storedRole(value === null ? null : JSON.stringify(value), 'tok_1'), UnreadableRights)
  }
  assert.throws(() => storedPolicy('{"burst":', 'app_1'), /policy of app_1 in the store cannot be read: it is not JSON/)
})
