import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CredentialKind, credentialKinds } from './credential-kinds.ts'
import { hashKey, makeKey, sameHash } from './keys.ts'

test('keys have the prefix of their kind, are long, and never repeat', () => {
  for (const kind of Object.keys(credentialKinds) as CredentialKind[]) {
    const made = Array.from({ length: 1000 }, () => makeKey(kind))
    assert.equal(new Set(made.map(({ secret }) => secret)).size, 1000)
    for (const { secret, hash, prefix } of made) {
      assert.match(secret, new RegExp(`^${credentialKinds[kind].prefix}[0-9a-z]{40}$`))
      assert.equal(hash, hashKey(secret))
      assert.ok(secret.startsWith(prefix) && prefix.length === 8)
    }
  }
})

test('every character of the alphabet occurs about equally often', () => {
  const counts = new Map<string, number>()
  for (let i = 0; i < 2000; i++) {
    for (const c of makeKey('consumer').secret.slice(4)) counts.set(c, (counts.get(c) ?? 0) + 1)
  }
  assert.equal(counts.size, 32)
  for (const [c, count] of counts) assert.ok(count > 2200 && count < 2800, `${c}: ${count} of 80,000`)
})

test('hashes are compared as a whole', () => {
  const hash = hashKey('a')
  assert.ok(sameHash(hash, hashKey('a')))
  assert.ok(!sameHash(hash, hashKey('b')))
  assert.ok(!sameHash(hash, hash.slice(1)))
  assert.ok(!sameHash('', hash))
})
