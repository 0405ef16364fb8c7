import assert from 'node:assert/strict'
import { test } from 'node:test'
import { credentialAt, credentialKinds } from './credential-kinds.ts'

const kinds = Object.values(credentialKinds)

test('no kind can be confused with another, by the prefix of its secrets or by its paths', () => {
  for (const one of kinds) {
    for (const other of kinds) {
      if (one === other) continue
      assert.ok(!one.prefix.startsWith(other.prefix), `${one.prefix} begins with ${other.prefix}`)
      for (const path of one.paths) {
        for (const above of other.paths) assert.ok(path !== above && !path.startsWith(`${above}/`), `${path} ${above}`)
      }
    }
  }
})

test('a path is opened by the kind whose paths contain it, not by one whose path is only a prefix of the text', () => {
  assert.equal(credentialAt('/v1/search'), 'consumer')
  assert.equal(credentialAt('/collector/v1/documents'), 'collector')
  assert.equal(credentialAt('/admin/v1/keys/:key_id/revoke'), 'admin')
  assert.equal(credentialAt('/metrics'), 'admin')
  for (const path of ['/', '/healthz', '/v10/search', '/metricsx', '/admin', '/x/v1/search', '/V1/search']) {
    assert.equal(credentialAt(path), null, path)
  }
})
