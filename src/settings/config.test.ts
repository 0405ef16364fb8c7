import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { ConfigError, environmentName, readConfig, settingHelp } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-config-'))
after(() => rmSync(folder, { recursive: true }))
const fileWith = (content: string): string => {
  const path = join(mkdtempSync(join(folder, 'secret-')), 'secret')
  writeFileSync(path, content)
  return path
}

const faultsOf = (environment: Record<string, string>, overrides: Record<string, string> = {}): readonly string[] => {
  try {
    readConfig(environment, overrides)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.faults
  }
}

test('without settings, everything has its default', () => {
  const config = readConfig({})
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.port, 8080)
  assert.equal(config.dataDir, resolve('data'))
  assert.equal(config.adminToken, null)
  assert.equal(config.logLevel, 'info')
  assert.deepEqual(config.corsOrigins, [])
})

test('none as the admin token creates one that nobody knows', () => {
  const tokens = [1, 2].map(() => readConfig({ TIDEMARK_ADMIN_TOKEN: 'none' }).adminToken!)
  assert.notEqual(tokens[0], tokens[1])
  for (const token of tokens) assert.match(token, /^[\w-]{43}$/)
})

test('a flag takes precedence over the environment; an empty text counts as unset', () => {
  assert.equal(readConfig({ TIDEMARK_PORT: '1' }, { TIDEMARK_PORT: '2' }).port, 2)
  assert.equal(readConfig({ TIDEMARK_PORT: '' }).port, 8080)
})

test('each wrong value is one fault that names the setting, its value and the valid values', () => {
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

test('all faults are reported together, including unknown settings, and without secrets', () => {
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

test('nodes of a search cluster are addresses without a path, and a wrong one is not shown', () => {
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

test('a value in the wrong setting is not shown if it may contain a password', () => {
  const names = settingHelp.map(({ environment }) => environment).filter((one) => !one.endsWith('_FILE'))
  const address = 'postgres://odd:S3CRET@127.0.0.1/odd'
  for (const name of names) {
    const faults = faultsOf({ [name]: address })
    assert.ok(!faults.join().includes('S3CRET'), faults.join())
    assert.ok(
      !faultsOf({ [name]: 'odd:S3CRET@db' })
        .join()
        .includes('S3CRET'),
      name,
    )
  }
  const [fault] = faultsOf({ TIDEMARK_DATABASE_HOST: address, TIDEMARK_DATABASE_NAME: 'x' })
  assert.match(fault!, /^TIDEMARK_DATABASE_HOST is a text of 35 characters, but it must be a host name or address/)
  const inPlaceOfFile = faultsOf({ TIDEMARK_DATABASE_PASSWORD_FILE: 'S3CRET' })
  assert.match(inPlaceOfFile[0]!, /_FILE names a text of 6 characters, which cannot be used: there is no such file/)
})

/** Characters with a meaning in an address. */
const hardPassword = 'a/b#c?d@e:f%2Fg%h+i j&k=l[m]n\\o"p$q’r'
const database = { TIDEMARK_DATABASE_HOST: 'db.internal', TIDEMARK_DATABASE_NAME: 'tidemark' }

test('host, port, name, user and password of the database make its address, whatever characters they have', () => {
  assert.equal(readConfig(database).databaseUrl, 'postgres://db.internal:5432/tidemark')
  const login = { TIDEMARK_DATABASE_USER: 'me@here/too', TIDEMARK_DATABASE_PASSWORD: hardPassword }
  const address = { ...database, TIDEMARK_DATABASE_HOST: '::1', TIDEMARK_DATABASE_PORT: '6543', ...login }
  const url = readConfig(address).databaseUrl!
  const { host, port, user, password, database: name } = new pg.Client(url)
  assert.deepEqual([host, port, user, password, name], ['::1', 6543, 'me@here/too', hardPassword, 'tidemark'])
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), (text) => {
      const given = { ...database, TIDEMARK_DATABASE_USER: text, TIDEMARK_DATABASE_PASSWORD: text }
      if (faultsOf(given).length > 0) return /\p{C}/u.test(text)
      const client = new pg.Client(readConfig(given).databaseUrl!)
      return client.user === text && client.password === text
    }),
  )
})

test('user and password of the database are added to an address that has none, and refused for one that has them', () => {
  const login = { TIDEMARK_DATABASE_USER: 'me', TIDEMARK_DATABASE_PASSWORD: hardPassword }
  for (const address of ['postgres://db:1/tidemark?sslmode=verify-full', 'postgres:///tidemark?host=/run/postgresql']) {
    const client = new pg.Client(readConfig({ TIDEMARK_DATABASE_URL: address, ...login }).databaseUrl!)
    assert.deepEqual([client.user, client.password, client.database], ['me', hardPassword, 'tidemark'])
    assert.match(client.host, /^(db|\/run\/postgresql)$/)
  }
  for (const address of ['postgres://you:hush@db/tidemark', 'postgres:///tidemark?user=you&password=hush']) {
    const faults = faultsOf({ TIDEMARK_DATABASE_URL: address, ...login })
    assert.match(faults[0]!, /^TIDEMARK_DATABASE_URL has a user, and TIDEMARK_DATABASE_USER is set too: keep one/)
    assert.match(faults[1]!, /^TIDEMARK_DATABASE_URL has a password, and TIDEMARK_DATABASE_PASSWORD is set too/)
    assert.ok(!faults.join().includes('hush') && !faults.join().includes(hardPassword))
  }
})

test('parts of an address that contradict each other are faults that say what to change', () => {
  const wrong: [Record<string, string>, RegExp][] = [
    [
      { TIDEMARK_DATABASE_HOST: 'db', TIDEMARK_DATABASE_URL: 'postgres://db/x' },
      /_URL and TIDEMARK_DATABASE_HOST are both set/,
    ],
    [{ TIDEMARK_DATABASE_HOST: 'db' }, /_HOST is set, so TIDEMARK_DATABASE_NAME must be the name/],
    [{ TIDEMARK_DATABASE_HOST: '1:2:x', TIDEMARK_DATABASE_NAME: 'x' }, /_HOST is not a host name or address/],
    [{ TIDEMARK_DATABASE_NAME: 'x' }, /_NAME is set, so TIDEMARK_DATABASE_HOST must be set too/],
    [{ TIDEMARK_DATABASE_PORT: '5432' }, /_PORT is set, so TIDEMARK_DATABASE_HOST must be set too/],
    [{ TIDEMARK_DATABASE_USER: 'x' }, /_USER is set, so TIDEMARK_DATABASE_URL or TIDEMARK_DATABASE_HOST must be/],
    [{ TIDEMARK_DATABASE_PASSWORD: 'x' }, /_PASSWORD is set, so TIDEMARK_DATABASE_URL or TIDEMARK_DATABASE_HOST/],
    [{ ...database, TIDEMARK_DATABASE_PASSWORD: 'x\ny' }, /^TIDEMARK_DATABASE_PASSWORD is a text of 3 characters/],
    [{ ...database, TIDEMARK_DATABASE_NAME: '../x' }, /^TIDEMARK_DATABASE_NAME is a text of 4 characters/],
    [{ ...database, TIDEMARK_DATABASE_PORT: '0' }, /^TIDEMARK_DATABASE_PORT is "0"/],
    [{ TIDEMARK_SEARCH_USER: 'x' }, /^TIDEMARK_SEARCH_USER is set, so TIDEMARK_SEARCH_URL must be set too/],
    [{ TIDEMARK_SEARCH_USER: 'x:y', TIDEMARK_SEARCH_URL: 'https://one' }, /without line breaks and colons$/],
    [{ TIDEMARK_ROLES: 'api' }, /need a TIDEMARK_DATABASE_URL or TIDEMARK_DATABASE_HOST that they share$/],
  ]
  for (const [environment, expected] of wrong) {
    const faults = faultsOf(environment)
    assert.equal(faults.length, 1, JSON.stringify(environment))
    assert.match(faults[0]!, expected)
  }
  assert.equal(readConfig({ ...database, TIDEMARK_ROLES: 'api' }).roles.length, 1)
})

test('a flag with the address of the database takes precedence over all parts in the environment', () => {
  const all = { ...database, TIDEMARK_DATABASE_PORT: '1', TIDEMARK_DATABASE_PASSWORD_FILE: '/nowhere' }
  const url = 'postgres://me:hush@other/tidemark'
  assert.equal(readConfig(all, { TIDEMARK_DATABASE_URL: url }).databaseUrl, url)
  assert.equal(
    readConfig({ TIDEMARK_DATABASE_URL: url }, { ...database }).databaseUrl,
    'postgres://db.internal:5432/tidemark',
  )
})

test('user and password of the cluster are added to the address of every node', () => {
  const login = { TIDEMARK_SEARCH_USER: 'me', TIDEMARK_SEARCH_PASSWORD: hardPassword }
  const nodes = readConfig({ TIDEMARK_SEARCH_URL: 'https://one:9200,https://two', ...login }).searchUrl!
  assert.deepEqual(
    nodes.map((node) => new URL(node).host),
    ['one:9200', 'two'],
  )
  for (const node of nodes) assert.equal(decodeURIComponent(new URL(node).password), hardPassword)
  const faults = faultsOf({ TIDEMARK_SEARCH_URL: 'https://you:hush@one,https://you:hush@two', ...login })
  assert.equal(faults.length, 2)
  assert.ok(!faults.join().includes('hush'))
})

test('every secret may be in a file, whose final newline is ignored, but not in both places', () => {
  const token = 'a-token-of-many-letters'
  const [name, file] = ['TIDEMARK_ADMIN_TOKEN', 'TIDEMARK_ADMIN_TOKEN_FILE']
  for (const end of ['', '\n', '\r\n']) {
    assert.equal(readConfig({ [file]: fileWith(token + end) }).adminToken, token)
  }
  const path = fileWith(token)
  assert.deepEqual(faultsOf({ [file]: path, [name]: token }), [`${name} and ${file} are both set: keep one of them`])
  assert.equal(readConfig({ [file]: '/nowhere' }, { [name]: token }).adminToken, token)
  assert.equal(readConfig({ [name]: 'another-token-of-many' }, { [file]: path }).adminToken, token)
  assert.equal(readConfig({ [name]: token, [file]: '' }).adminToken, token)
  const unusable: [string, RegExp][] = [
    [join(folder, 'absent'), /_FILE names ".*absent", which cannot be used: there is no such file$/],
    [folder, /which cannot be used: it is not a file$/],
    ['/dev/zero', /which cannot be used: it is not a file$/],
    [fileWith('\n'), /which cannot be used: it is empty$/],
    [fileWith('x'.repeat(65_537)), /which cannot be used: it has more than 65536 bytes$/],
  ]
  for (const [wrong, expected] of unusable) {
    const faults = faultsOf({ [file]: wrong })
    assert.equal(faults.length, 1, wrong)
    assert.match(faults[0]!, expected)
  }
  const [fault] = faultsOf({ [file]: fileWith('hush') })
  assert.equal(
    fault,
    `${name} is a text of 4 characters, but it must be 16 to 256 printable characters without spaces, or none`,
  )

  const values = {
    ADMIN_TOKEN: token,
    DATABASE_URL: 'postgres://db/tidemark',
    DATABASE_PASSWORD: hardPassword,
    SEARCH_URL: 'https://one:9200',
    SEARCH_PASSWORD: hardPassword,
    SEARCH_KEY: 'a-key',
    EMBEDDING_KEY: 'a-key',
  }
  const under = (ending: string, of: (value: string) => string) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [`TIDEMARK_${key}${ending}`, of(value)]))
  const direct = under('', (value) => value)
  assert.deepEqual(readConfig(under('_FILE', fileWith)), readConfig(direct))
  const files = settingHelp.map(({ environment }) => environment).filter((one) => one.endsWith('_FILE'))
  assert.deepEqual(
    files.toSorted(),
    Object.keys(direct)
      .map((one) => `${one}_FILE`)
      .toSorted(),
  )
})

test('every variable that the README, the documents and the console tell people to set is accepted', () => {
  const root = join(import.meta.dirname, '../..')
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

test('any settings result in either a complete configuration or faults', () => {
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
