import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditAnswer } from './audit-answer.ts'

const line = { auditId: 'aud_1', at: 0, actor: 'admin-api', action: 'key.create', target: 'key_1', detail: {} }

test('details have the field names and times of the API, at any depth', () => {
  const owner = { applicationId: 'app_1', kind: 'consumer', id: 'app_1' }
  const detail = { keyId: 'key_1', oldExpiresAt: 0, replacement: { owner, expiresAt: null }, revived: ['keyId'] }
  assert.deepEqual(auditAnswer({ ...line, detail }).detail, {
    key_id: 'key_1',
    old_expires_at: '1970-01-01T00:00:00.000Z',
    replacement: { owner: { application_id: 'app_1', kind: 'consumer', id: 'app_1' }, expires_at: null },
    revived: ['keyId'],
  })
})

test('JSON from an operator stays unchanged', () => {
  const labelSchema = { createdAt: 5, inCamelCase: { byName: true } }
  assert.deepEqual(auditAnswer({ ...line, detail: { labelSchema } }).detail, { label_schema: labelSchema })
})

test('actions on admin tokens have their own names', () => {
  const actionOf = (action: string, target: string): string => auditAnswer({ ...line, action, target }).action
  assert.equal(actionOf('key.create', 'tok_1'), 'admin_token.create')
  assert.equal(actionOf('key.revoke', 'tok_1'), 'admin_token.revoke')
  assert.equal(actionOf('key.revoke', 'key_1'), 'key.revoke')
  assert.equal(actionOf('dataset.put', 'tok_1'), 'dataset.put')
})
