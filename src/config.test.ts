import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse, parseAllDocuments } from 'yaml'
import { ConfigError, environmentName, readConfig, settingHelp } from './config.ts'

const faultsOf = (environment: Record<string, string>, overrides: Record<string, string> = {}): readonly string[] => {
  try {
    readConfig(environment, overrides)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.faults
  }
}

test('without anything set, everything has its default', () => {
  const config = readConfig({})
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.port, 8080)
  assert.equal(config.dataDir, resolve('data'))
  assert.equal(config.adminToken, null)
  assert.equal(config.logLevel, 'info')
  assert.deepEqual(config.corsOrigins, [])
})

test('a flag wins over the environment; an empty text is as if unset', () => {
  assert.equal(readConfig({ TIDEMARK_PORT: '1' }, { TIDEMARK_PORT: '2' }).port, 2)
  assert.equal(readConfig({ TIDEMARK_PORT: '' }).port, 8080)
})

test('each wrong value is one fault that names the setting, what it was and what it may be', () => {
  const wrong: [string, string, RegExp][] = [
    ['HOST', 'a b', /host name or address/],
    ['HOST', 'http://x', /host name or address/],
    ['PORT', '65536', /0 to 65535/],
    ['PORT', '-1', /0 to 65535/],
    ['PORT', '80.5', /0 to 65535/],
    ['PORT', '0x50', /0 to 65535/],
    ['PORT', ' 80', /0 to 65535/],
    ['DATA_DIR', ' ', /path of a folder/],
    ['ADMIN_TOKEN', 'fifteen letters', /16 to 256 printable/],
    ['ADMIN_TOKEN', 'x'.repeat(257), /16 to 256 printable/],
    ['LOG_LEVEL', 'INFO', /one of fatal/],
    ['CORS_ORIGINS', 'example.com', /origins such as/],
    ['CORS_ORIGINS', 'https://example.com/', /origins such as/],
    ['CORS_ORIGINS', 'https://a.example,', /origins such as/],
    ['REQUESTS_IN_FLIGHT_MAX', '0', /1 to 100000/],
    ['SEARCH_PREFIX', 'Tidemark', /lower-case letters/],
    ['SEARCH_PREFIX', 'a*', /lower-case letters/],
    ['SEARCH_SHARDS', '0', /1 to 1024/],
  ]
  for (const [name, value, expected] of wrong) {
    const faults = faultsOf({ [`TIDEMARK_${name}`]: value })
    assert.equal(faults.length, 1, `${name}=${value}`)
    assert.match(faults[0]!, new RegExp(`^TIDEMARK_${name} is `))
    assert.match(faults[0]!, expected)
    if (name !== 'ADMIN_TOKEN') assert.ok(faults[0]!.includes(JSON.stringify(value)))
    assert.ok(!faults[0]!.includes('\n'))
  }
})

test('all faults are reported together, unknown settings among them, and no secret with them', () => {
  const faults = faultsOf({
    TIDEMARK_PORT: 'x',
    TIDEMARK_LOG_LEVEL: 'y',
    TIDEMARK_ADMIN_TOKEN: 'hush',
    TIDEMARK_PROT: '1',
  })
  assert.equal(faults.length, 4)
  assert.ok(!faults.join().includes('hush'))
  assert.match(faults.at(-1)!, /^TIDEMARK_PROT is not a known setting; the settings are: TIDEMARK_HOST/)
  assert.deepEqual(faultsOf({ PATH: '/bin', TIDEMARKISH: 'x' }), [])
})

test('nodes of a search cluster are addresses without a path, and what is wrong in one is not shown', () => {
  const nodes = 'https://operator:hush@one:9200, http://two'
  assert.deepEqual(readConfig({ TIDEMARK_SEARCH_URL: nodes }).searchUrl, [
    'https://operator:hush@one:9200',
    'http://two',
  ])
  assert.equal(readConfig({}).searchUrl, null)
  for (const wrong of [
    'one:9200',
    'https://one:9200/path',
    'https://one?x',
    'http://one,',
    'ftp://operator:hush@one',
  ]) {
    const [fault, ...others] = faultsOf({ TIDEMARK_SEARCH_URL: wrong })
    assert.deepEqual(others, [])
    assert.match(fault!, /^TIDEMARK_SEARCH_URL is a text of \d+ characters, but it must be http or https addresses/)
  }
})

test('every variable that the README, the documents and the pages tell people to set may stay set', () => {
  const root = join(import.meta.dirname, '..')
  const named = new Set<string>()
  const places = ['README.md', 'docs/**/*.md', 'console/**/*.{ts,html,md}', 'deploy/**/*.*', 'deploy/Dockerfile']
  for (const file of globSync(places, { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [name] of text.matchAll(/\bTIDEMARK_[A-Z_]*[A-Z]\b/g)) named.add(name)
  }
  assert.ok(named.has('TIDEMARK_KEY') && named.has('TIDEMARK_COLLECTOR_KEY') && named.has('TIDEMARK_PORT'))
  for (const name of named) {
    assert.doesNotMatch(faultsOf({ [name]: 'x' }).join(), /not a known setting/, name)
  }
  for (const name of ['TIDEMARK_KEYS', 'TIDEMARK_ADMIN_KEY']) {
    assert.match(faultsOf({ [name]: 'x' }).join(), /not a known setting/, name)
  }
})

test('whatever is set, the answer is a whole configuration or faults, never anything else', () => {
  const names = settingHelp.map(({ environment }) => environment)
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), fc.string()), (environment) => {
      if (faultsOf(environment).length > 0) return
      const config = readConfig(environment)
      assert.ok(Number.isInteger(config.port) && config.port >= 0 && config.port <= 65_535)
      assert.ok(config.dataDir.startsWith('/') || /^[A-Z]:/.test(config.dataDir))
      assert.ok(config.adminToken === null || config.adminToken.length >= 16)
    }),
  )
})

test('a setting has one name in three spellings', () => {
  assert.equal(environmentName('requestsInFlightMax'), 'TIDEMARK_REQUESTS_IN_FLIGHT_MAX')
  assert.ok(settingHelp.some(({ flag }) => flag === '--requests-in-flight-max'))
  assert.equal(new Set(settingHelp.map(({ flag }) => flag)).size, settingHelp.length)
})

test('the deployment files set what the settings take', () => {
  const deploy = join(import.meta.dirname, '..', 'deploy')
  const textOf = (name: string) =>
    readFileSync(join(deploy, name), 'utf8').replace(/\$\{\w+:\?[^}]*\}/g, 'a-secret-of-many-letters')
  const environments: Record<string, string>[] = []
  for (const name of globSync('compose*.yaml', { cwd: deploy })) {
    const { services } = parse(textOf(name), { merge: true })
    for (const { environment } of Object.values<{ environment?: Record<string, string> }>(services)) {
      if (environment?.TIDEMARK_ROLES !== undefined) environments.push(environment)
    }
  }
  const objects = parseAllDocuments(textOf('kubernetes/tidemark.yaml')).map((document) => document.toJS())
  const { data } = objects.find(({ kind }) => kind === 'ConfigMap')
  const secrets = textOf('kubernetes/tidemark.yaml').matchAll(/--from-literal=([a-z0-9-]+)=(\S+)/g)
  const secretOf = new Map(
    Array.from(secrets, ([, name, value]) => [name!, value!.replaceAll('…', 'many-letters-of-it')]),
  )
  for (const { kind, spec } of objects) {
    if (kind !== 'Deployment') continue
    const own: { name: string; value?: string; valueFrom?: { secretKeyRef: { key: string } } }[] =
      spec.template.spec.containers[0].env
    const values = own.map(({ name, value, valueFrom }) => [name, value ?? secretOf.get(valueFrom!.secretKeyRef.key)])
    environments.push({ ...data, ...Object.fromEntries(values) })
  }
  assert.equal(environments.length, 3 + 4 + 2)
  for (const environment of environments) {
    const { databaseUrl, roles } = readConfig(environment)
    assert.ok(databaseUrl !== null && roles.length === 1)
  }
})
