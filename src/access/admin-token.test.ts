import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { adminTokenOf, markAdminTokenShown, replaceAdminToken } from './admin-token.ts'
import { hashKey } from './keys.ts'

test('if many processes make a token at once, one succeeds, and all know its hash', async (t) => {
  for (let round = 0; round < 10; round++) {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-token-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const results = await Promise.all(Array.from({ length: 20 }, () => adminTokenOf(folder, null)))
    const made = results.flatMap((one) => one.made ?? [])
    assert.equal(made.length, 1)
    assert.ok(results.every(({ hash }) => hash === hashKey(made[0]!)))
    assert.deepEqual(readdirSync(folder), ['admin-token.sha256'])
    assert.equal(statSync(join(folder, 'admin-token.sha256')).mode & 0o777, 0o600)
  }
})

test('a token that is set is used and not kept; a replaced one takes the place of the kept one', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-token-'))
  t.after(() => rmSync(folder, { recursive: true }))
  assert.deepEqual(await adminTokenOf(folder, 'a token of mine'), {
    hash: hashKey('a token of mine'),
    made: null,
    mustBeShown: false,
  })
  assert.deepEqual(readdirSync(folder), [])
  const first = await adminTokenOf(folder, null)
  const { hash, made } = first
  assert.deepEqual(await adminTokenOf(folder, null), { hash, made: null, mustBeShown: true })
  await markAdminTokenShown(folder, first)
  assert.deepEqual(await adminTokenOf(folder, null), { hash, made: null, mustBeShown: false })
  const next = await replaceAdminToken(folder)
  assert.notEqual(next, made)
  await markAdminTokenShown(folder, first)
  assert.deepEqual(await adminTokenOf(folder, null), { hash: hashKey(next), made: null, mustBeShown: false })
})
