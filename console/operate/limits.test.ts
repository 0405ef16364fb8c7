import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Policy } from '../../src/access/policy.ts'
import { analysisTypes, fieldsOfPolicy, limitGroups, limitName, policyOfFields, typesPath } from './limits.ts'

/** Returns the paths of all limits of a policy. */
function pathsOf(schema: object, above = ''): string[] {
  const { properties } = schema as { properties?: Record<string, object> }
  if (properties === undefined) return [above.slice(0, -1)]
  return Object.entries(properties).flatMap(([name, part]) => pathsOf(part, `${above}${name}.`))
}

test('the form has every limit of a policy, and no other', () => {
  const shown = limitGroups.flatMap(({ limits }) => limits.map(({ path }) => path))
  assert.deepEqual([...shown, typesPath].sort(), pathsOf(Policy).sort())
  assert.equal(new Set(shown.map(limitName)).size, shown.length, 'each has a name of its own')
  const types = Policy.properties.analysis.properties.types as unknown as { items: { enum: string[] } }
  assert.deepEqual(Object.keys(analysisTypes), types.items.enum)
})

test('a policy survives the conversion to fields and back, with values that the form does not know', () => {
  const policy = {
    requests_per_second: 0.5,
    daily_quotas: { search: 0, export: 7 },
    live: { enabled: false },
    analysis: { types: ['clustering'], newer: { deep: [1] } },
  }
  const fields = fieldsOfPolicy(policy)
  assert.equal(fields['daily_quotas.search'], '0')
  assert.deepEqual(policyOfFields(fields), policy)
  assert.deepEqual(policyOfFields({ ...fields, 'daily_quotas.search': '', 'daily_quotas.export': '' }), {
    requests_per_second: 0.5,
    live: { enabled: false },
    analysis: policy.analysis,
  })
})
