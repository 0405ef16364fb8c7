import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ThrowawayPostgres, throwawayPostgres } from '../../scripts/throwaway-postgres.ts'
import { documentOf } from './content.ts'
import { startServer } from './harness.ts'

/** Every character of it has a meaning in an address. */
const password = 'a/b#c?d@e:f%2Fg+h&i=j[k]'
const folder = mkdtempSync(join(tmpdir(), 'tidemark-login-'))
let postgres: ThrowawayPostgres
let settings: Record<string, string>

before(async () => {
  postgres = await throwawayPostgres({ durable: false, password })
  const { hostname, port, username, pathname } = new URL(postgres.url)
  settings = {
    TIDEMARK_DATABASE_URL: '',
    TIDEMARK_DATABASE_HOST: hostname,
    TIDEMARK_DATABASE_PORT: port,
    TIDEMARK_DATABASE_NAME: pathname.slice(1),
    TIDEMARK_DATABASE_USER: username,
  }
})

after(async () => {
  await postgres.remove()
  rmSync(folder, { recursive: true })
})

test('a server logs in to its database with a password that no address would take as it is', async () => {
  const server = await startServer({ env: { ...settings, TIDEMARK_DATABASE_PASSWORD: password } })
  const { key } = await server.makeCollector()
  const documents = [documentOf('one', { body: 'stored behind a password' })]
  assert.equal((await server.collector(key, 'POST', '/collector/v1/documents', { documents })).status, 200)
  await server.stop()
})

test('the password may be in a file, and so may the admin token; a wrong one ends the start without showing it', async () => {
  const fileWith = (name: string, content: string): string => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }
  const secrets = {
    TIDEMARK_DATABASE_PASSWORD_FILE: fileWith('password', `${password}\n`),
    TIDEMARK_ADMIN_TOKEN: '',
    TIDEMARK_ADMIN_TOKEN_FILE: fileWith('token', 'another-token-of-many-letters\n'),
  }
  const server = await startServer({ env: { ...settings, ...secrets } })
  const authorization = 'Bearer another-token-of-many-letters'
  assert.equal((await server.call('GET', '/admin/v1/self', { headers: { authorization } })).status, 200)
  await server.stop()

  const wrong = { ...settings, TIDEMARK_DATABASE_PASSWORD: 'not/the#password' }
  await assert.rejects(startServer({ env: wrong }), ({ message }: Error) => {
    assert.match(message, /code 2 .*password authentication failed/s)
    return !message.includes('not/the#password')
  })
})
