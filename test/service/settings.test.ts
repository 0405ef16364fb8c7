import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshFolder, startServer, tidemark } from '../acceptance/harness.ts'

/**
 * One wrong setting: one line with its name, its value and the allowed values; exit code 2; the server does not start.
 */
const wrong: [Record<string, string>, RegExp][] = [
  [
    { TIDEMARK_HOST: '203.0.113.77' },
    /^tidemark: TIDEMARK_HOST is "203\.0\.113\.77", but it must be .* of this machine/,
  ],
  [{ TIDEMARK_PORT: '70000' }, /^tidemark: TIDEMARK_PORT is "70000", but it must be a whole number from 0 to 65535/],
  [
    { TIDEMARK_CORS_ORIGINS: 'example.com' },
    /^tidemark: TIDEMARK_CORS_ORIGINS is "example.com", but it must be origins/,
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    /^tidemark: OTEL_EXPORTER_OTLP_PROTOCOL is "grpc", but it must be one of http\/protobuf, http\/json/,
  ],
  [{ TIDEMARK_NO_SUCH_THING: '1' }, /^tidemark: TIDEMARK_NO_SUCH_THING is not a known setting/],
]

test('each wrong setting is one line that names it, and exit code 2', async () => {
  await Promise.all(
    wrong.map(async ([env, message]) => {
      const { code, stdout, stderr } = await tidemark(['serve'], { env })
      assert.equal(code, 2, stderr)
      assert.equal(stdout, '')
      assert.match(stderr, message)
      assert.equal(stderr.trim().split('\n').length, 1, stderr)
    }),
  )
})

test('several wrong settings are all reported at once, and the admin token is not repeated', async () => {
  const { code, stderr } = await tidemark(['serve', '--log-level', 'quiet'], {
    env: { TIDEMARK_PORT: '-1', TIDEMARK_ADMIN_TOKEN: 'my secret', TIDEMARK_HOST: '!' },
  })
  assert.equal(code, 2)
  assert.equal(stderr.trim().split('\n').length, 4, stderr)
  for (const name of ['HOST', 'PORT', 'ADMIN_TOKEN', 'LOG_LEVEL'])
    assert.match(stderr, new RegExp(`TIDEMARK_${name} is`))
  assert.doesNotMatch(stderr, /my secret/)
})

test('a data folder that cannot be one, and a port that is taken, are named too', async () => {
  const folder = freshFolder()
  writeFileSync(join(folder, 'file'), '')
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  const { port } = taken.address() as { port: number }
  const [file, busy] = await Promise.all([
    tidemark(['serve'], { dataDir: join(folder, 'file') }),
    tidemark(['serve'], { env: { TIDEMARK_PORT: String(port) } }),
  ])
  taken.close()
  assert.equal(file.code, 2, file.stderr)
  assert.match(file.stderr, /^tidemark: TIDEMARK_DATA_DIR is ".*file", but it must be a folder/)
  assert.equal(busy.code, 2, busy.stderr)
  assert.match(busy.stderr, new RegExp(`^tidemark: TIDEMARK_PORT is ${port}, but that port is already in use`))
})

test('a flag wins over its environment variable, and an empty variable is as if unset', async () => {
  const server = await startServer({
    args: ['--log-level', 'silent'],
    env: { TIDEMARK_LOG_LEVEL: 'info', TIDEMARK_CORS_ORIGINS: '' },
  })
  await server.call('GET', '/healthz')
  assert.equal(await server.stop(), 0)
  assert.equal(server.stderr, '')
})
