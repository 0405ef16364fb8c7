import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { quoted } from '../platform/quoted.ts'
import { parseS3Address, s3AddressExpected } from './s3-address.ts'
import { readTracing, type TracingSettings } from './tracing-settings.ts'

/**
 * The settings of an instance: one table, read once from the environment, with all faults reported together. No other
 * code reads settings from it. Each setting is an environment variable and, under the same name, a flag of `serve`
 * (TIDEMARK_DATA_DIR, --data-dir).
 */
export interface Config {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  readonly adminToken: string | null
  readonly databaseUrl: string | null
  readonly databaseConnectionsMax: number
  readonly roles: readonly Role[]
  readonly artifactsUrl: string | null
  readonly searchUrl: readonly string[] | null
  readonly searchKey: string | null
  readonly searchPrefix: string
  readonly searchShards: number
  readonly logLevel: LogLevel
  readonly corsOrigins: readonly string[]
  readonly requestsInFlightMax: number
  readonly connectionsMax: number
  readonly bodyTimeoutMs: number
  readonly catalogTimeoutMs: number
  readonly shutdownDrainMs: number
  readonly shutdownTimeoutMs: number
  readonly embeddingUrl: string | null
  readonly embeddingModel: string | null
  readonly embeddingKey: string | null
  readonly rerankUrl: string | null
  readonly rerankTimeoutMs: number
  readonly hybridWeights: Readonly<Record<'lexical' | 'vector' | 'quality' | 'recency', number>> | null
  /** null: tracing is off. */
  readonly tracing: TracingSettings | null
}

/**
 * Parts of addresses as separate settings, so that a password need not be escaped. `Config` has only whole addresses.
 */
interface AddressParts {
  readonly databaseHost: string | null
  readonly databasePort: number | null
  readonly databaseName: string | null
  readonly databaseUser: string | null
  readonly databasePassword: string | null
  readonly searchUser: string | null
  readonly searchPassword: string | null
}

/** Settings that may be read from a file, whose path is in NAME_FILE. */
const secrets: readonly string[] = [
  'adminToken',
  'databaseUrl',
  'databasePassword',
  'searchUrl',
  'searchPassword',
  'searchKey',
  'embeddingKey',
] satisfies (keyof Config | keyof AddressParts)[]

/** A secret is short, so a larger file is the wrong file. */
const secretFileBytesMax = 65_536

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
type LogLevel = (typeof logLevels)[number]

export const defaultDataFolder = './data'

/** `api` answers requests, `worker` does background work. One process usually does both. */
const roles = ['api', 'worker'] as const
export type Role = (typeof roles)[number]

interface Setting<T> {
  readonly fallback: string | null
  readonly about: string
  /** The valid values, as the end of the sentence "… but it must be …". */
  readonly expected: string
  /** Returns undefined if the text is not valid. */
  readonly parse: (text: string) => T | undefined
}

const integer = (least: number, most: number) => (text: string) => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return value >= least && value <= most ? value : undefined
}

/** User names and passwords of a database or cluster. A line break is a mistake in the file or the shell. */
const user: Pick<Setting<string>, 'expected' | 'parse'> = {
  expected: 'up to 128 characters without line breaks',
  parse: (text) => (/^\P{C}{1,128}$/u.test(text) ? text : undefined),
}
const password: Pick<Setting<string>, 'expected' | 'parse'> = {
  expected: 'up to 1024 characters without line breaks',
  parse: (text) => (/^\P{C}{1,1024}$/u.test(text) ? text : undefined),
}

type Settings = Omit<Config, 'tracing'> & AddressParts

const settings: { readonly [K in keyof Settings]: Setting<Settings[K]> } = {
  host: {
    fallback: '127.0.0.1',
    about: 'the address to listen on',
    expected: 'a host name or address, such as 127.0.0.1 or 0.0.0.0',
    parse: (text) => (/^[A-Za-z0-9.:_-]+$/.test(text) ? text : undefined),
  },
  port: {
    fallback: '8080',
    about: 'the port to listen on; 0 for any free port',
    expected: 'a whole number from 0 to 65535',
    parse: integer(0, 65_535),
  },
  dataDir: {
    fallback: defaultDataFolder,
    about: 'the folder for all data of the instance',
    expected: 'the path of a folder',
    parse: (text) => (text.trim() === '' || text.includes('\0') ? undefined : resolve(text)),
  },
  adminToken: {
    fallback: null,
    about: 'the unnamed admin token; the value `none` disables it; if not set, one is created and printed once',
    expected: '16 to 256 printable characters without spaces, or none',
    parse: (text) => {
      // A random token that nobody knows.
      if (text === 'none') return randomBytes(32).toString('base64url')
      return /^[\x21-\x7e]{16,256}$/.test(text) ? text : undefined
    },
  },
  databaseUrl: {
    fallback: null,
    about: 'a PostgreSQL database (14 or later) for all data; if not set, the embedded store',
    expected: 'an address such as postgres://user:password@host:5432/tidemark?sslmode=verify-full',
    parse: (text) => {
      const url = /^postgres(ql)?:\/\//.test(text) ? URL.parse(text) : null
      return url === null || url.pathname.length < 2 ? undefined : text
    },
  },
  databaseHost: {
    fallback: null,
    about: 'the host of the PostgreSQL database, instead of a whole address',
    expected: 'a host name or address, such as db.internal',
    parse: (text) => (/^[A-Za-z0-9.:_-]{1,255}$/.test(text) ? text : undefined),
  },
  databasePort: {
    fallback: null,
    about: 'the port at that host; if not set, 5432',
    expected: 'a whole number from 1 to 65535',
    parse: integer(1, 65_535),
  },
  databaseName: {
    fallback: null,
    about: 'the name of the database at that host',
    expected: 'up to 63 letters, digits, dots, hyphens and underscores',
    parse: (text) => (/^[\w.-]{1,63}$/.test(text) && !/^\.+$/.test(text) ? text : undefined),
  },
  databaseUser: {
    fallback: null,
    about: 'the user, if the address has none',
    ...user,
  },
  databasePassword: {
    fallback: null,
    about: 'the password, if the address has none; every character stands for itself',
    ...password,
  },
  databaseConnectionsMax: {
    fallback: '10',
    about: 'size of the connection pool for the database; the process opens two more connections',
    expected: 'a whole number from 2 to 1000',
    parse: integer(2, 1000),
  },
  roles: {
    fallback: 'api,worker',
    about: 'what this process does: api answers requests, worker runs background jobs',
    expected: 'api, worker or api,worker',
    parse: (text) => {
      const named = text.split(',').map((one) => one.trim())
      const known = roles.filter((role) => named.includes(role))
      return known.length === named.length ? known : undefined
    },
  },
  artifactsUrl: {
    fallback: null,
    about: 'a folder or S3 bucket for results of analysis, shared by all processes; if not set, the data folder',
    expected: `the address of a folder, such as file:///srv/tidemark/artifacts, or of a bucket: ${s3AddressExpected}`,
    parse: (text) =>
      parseS3Address(text) !== null || (/^file:\/\/\/./.test(text) && URL.canParse(text)) ? text : undefined,
  },
  searchUrl: {
    fallback: null,
    about: 'nodes of an OpenSearch cluster (3 or later) for the search index; if not set, the data folder',
    expected:
      'http or https addresses, comma-separated, such as https://user:password@search-1:9200,https://search-2:9200',
    parse: (text) => {
      const nodes = text.split(',').map((node) => node.trim())
      return nodes.every(isNode) ? nodes : undefined
    },
  },
  searchUser: {
    fallback: null,
    about: 'the user for that cluster, if the addresses have none',
    ...user,
    // In basic authentication a colon ends the user name.
    expected: 'up to 128 characters without line breaks and colons',
    parse: (text) => (text.includes(':') ? undefined : user.parse(text)),
  },
  searchPassword: {
    fallback: null,
    about: 'the password for that cluster, if the addresses have none; every character stands for itself',
    ...password,
  },
  searchKey: {
    fallback: null,
    about: 'the API key for that cluster, if it does not use a user and password',
    expected: 'up to 4096 printable characters without spaces',
    parse: (text) => (/^[\x21-\x7e]{1,4096}$/.test(text) ? text : undefined),
  },
  searchPrefix: {
    fallback: 'tidemark',
    about: 'prefix for the names of the OpenSearch indexes; each instance on a cluster needs its own',
    expected: 'up to 64 lower-case letters, digits and hyphens, a letter first',
    parse: (text) => (/^[a-z][a-z0-9-]{0,63}$/.test(text) ? text : undefined),
  },
  searchShards: {
    fallback: '1',
    about: 'shards of new OpenSearch indexes; one is enough for about ten million chunks',
    expected: 'a whole number from 1 to 1024',
    parse: integer(1, 1024),
  },
  logLevel: {
    fallback: 'info',
    about: 'log level; logs are JSON lines on standard error',
    expected: `one of ${logLevels.join(', ')}`,
    parse: (text) => logLevels.find((level) => level === text),
  },
  corsOrigins: {
    fallback: null,
    about: 'web origins that browsers may call from, comma-separated; if not set, none',
    expected: 'origins such as https://app.example.com, comma-separated, or *',
    parse: (text) => {
      const origins = text.split(',').map((origin) => origin.trim())
      return origins.every((origin) => origin === '*' || isOrigin(origin)) ? origins : undefined
    },
  },
  requestsInFlightMax: {
    fallback: '512',
    about: 'maximum concurrent requests; others get 503 with Retry-After',
    expected: 'a whole number from 1 to 100000',
    parse: integer(1, 100_000),
  },
  connectionsMax: {
    fallback: '10000',
    about: 'maximum open connections; others are closed at once',
    expected: 'a whole number from 1 to 1000000',
    parse: integer(1, 1_000_000),
  },
  bodyTimeoutMs: {
    fallback: '30000',
    about: 'milliseconds for a JSON body to arrive, or without progress of an NDJSON stream, before the answer is 408',
    expected: 'a whole number from 100 to 3600000',
    parse: integer(100, 3_600_000),
  },
  catalogTimeoutMs: {
    fallback: '5000',
    about: 'milliseconds for a listing before the answer is 503',
    expected: 'a whole number from 1 to 600000',
    parse: integer(1, 600_000),
  },
  shutdownDrainMs: {
    fallback: '1000',
    about: 'milliseconds after SIGTERM during which requests are still accepted, so that load balancers can notice',
    expected: 'a whole number from 0 to 600000',
    parse: integer(0, 600_000),
  },
  shutdownTimeoutMs: {
    fallback: '20000',
    about: 'milliseconds after SIGTERM for requests in progress to finish before their connections are closed',
    expected: 'a whole number from 1 to 3600000',
    parse: integer(1, 3_600_000),
  },
  embeddingUrl: {
    fallback: null,
    about:
      'an OpenAI-compatible embedding endpoint with its path, usually /v1: texts are sent to …/v1/embeddings; if not set, the built-in models',
    expected: 'an http or https address, such as http://127.0.0.1:11434/v1',
    parse: (text) => (/^https?:\/\//.test(text) && URL.canParse(text) ? text : undefined),
  },
  embeddingModel: {
    fallback: null,
    about:
      'the model of that endpoint; without an endpoint, one or more built-in models, the one for all languages first (default: multilingual-e5-small-q4,bge-small-en-v1.5)',
    expected: 'the name of a model, up to 128 printable characters',
    parse: (text) => (/^[\x21-\x7e]{1,128}$/.test(text) ? text : undefined),
  },
  embeddingKey: {
    fallback: null,
    about: 'the API key for that endpoint, if it needs one',
    expected: 'up to 4096 printable characters without spaces',
    parse: (text) => (/^[\x21-\x7e]{1,4096}$/.test(text) ? text : undefined),
  },
  rerankUrl: {
    fallback: null,
    about: 'a rerank endpoint (a cross-encoder) for the best results of hybrid search; if not set, none',
    expected: 'an http or https address without user name and password, such as http://127.0.0.1:8787/v1',
    parse: (text) => {
      const url = /^https?:\/\//.test(text) ? URL.parse(text) : null
      return url === null || url.username !== '' || url.password !== '' ? undefined : text
    },
  },
  rerankTimeoutMs: {
    fallback: '1500',
    about: 'milliseconds to wait for the rerank endpoint; without its answer the order stays as it is',
    expected: 'a whole number from 1 to 60000',
    parse: integer(1, 60_000),
  },
  hybridWeights: {
    fallback: null,
    about: 'weights of the parts of a hybrid score, such as lexical=0.5,vector=0.5,quality=0,recency=0',
    expected: 'lexical, vector, quality and recency, each with a number from 0 to 1, not all 0',
    parse: parseWeights,
  },
}

function parseWeights(text: string): Config['hybridWeights'] | undefined {
  const weights = { lexical: -1, vector: -1, quality: -1, recency: -1 }
  for (const part of text.split(',')) {
    const [name = '', value = ''] = part.split('=').map((one) => one.trim())
    if (!(name in weights) || !/^(0|1|0?\.\d+|1\.0+|0\.0*)$/.test(value)) return undefined
    weights[name as keyof typeof weights] = Number(value)
  }
  const given = Object.values(weights)
  return given.every((weight) => weight >= 0) && given.some((weight) => weight > 0) ? weights : undefined
}

function isNode(text: string): boolean {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null
  return url !== null && url.pathname === '/' && url.search === '' && url.hash === ''
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

/**
 * A variable with this prefix that is not a setting is refused, so that a setting of another release is not ignored
 * silently.
 */
const prefix = 'TIDEMARK_'

/**
 * Variables that hold a caller's key in examples. They are not settings, but may be set in the shell that starts a
 * command.
 */
const keysOfCallers = ['TIDEMARK_KEY', 'TIDEMARK_COLLECTOR_KEY']

export const environmentName = (key: string): string => prefix + key.replace(/[A-Z]/g, (c) => `_${c}`).toUpperCase()
const flagName = (key: string): string => `--${key.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`

const fileSuffix = '_FILE'
const aboutFile = (name: string): string => `a file that ${name} is read from`

/** For the command line's help: every setting with its flag, default and meaning. */
export const settingHelp: readonly { flag: string; environment: string; about: string; fallback: string | null }[] =
  Object.entries(settings).flatMap(([key, { about, fallback }]) => {
    const [flag, environment] = [flagName(key), environmentName(key)]
    const own = { flag, environment, about, fallback }
    const file = { flag: `${flag}-file`, environment: environment + fileSuffix }
    return secrets.includes(key) ? [own, { ...file, about: aboutFile(environment), fallback: null }] : [own]
  })

/** One line for each wrong setting: its name, its value (or the length of the value) and the valid values. */
export class ConfigError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'ConfigError'
    this.faults = faults
  }
}

type Given = Readonly<Record<string, string | undefined>>

/** `overrides` are the flags, by their environment names. They take precedence over the environment. */
export function readConfig(environment: Given, overrides: Given = {}): Config {
  const faults: string[] = []
  const values: { [K in keyof Settings]?: Settings[K] } = {}
  const known = new Set(settingHelp.map((setting) => setting.environment))
  const overridden = overriddenBy(overrides)
  for (const [key, setting] of Object.entries(settings)) {
    const name = environmentName(key)
    const given = givenText(key, overridden.has(name) ? {} : environment, overrides, faults)
    if (given === undefined) continue
    const text = given ?? setting.fallback
    if (text === null) {
      Object.assign(values, { [key]: key === 'corsOrigins' ? [] : null })
      continue
    }
    const value = setting.parse(text)
    if (value === undefined) faults.push(`${name} is ${shown(key, text)}, but it must be ${setting.expected}`)
    else Object.assign(values, { [key]: value })
  }
  for (const name of Object.keys(environment)) {
    if (!name.startsWith(prefix) || known.has(name) || keysOfCallers.includes(name)) continue
    if (environment[name] !== '') {
      faults.push(`${name} is not a known setting; the settings are: ${[...known].join(', ')}`)
    }
  }
  if (values.embeddingUrl !== null && values.embeddingModel === null) {
    faults.push('TIDEMARK_EMBEDDING_URL is set, so TIDEMARK_EMBEDDING_MODEL must be the name of a model')
  }
  // The combination of parts is only checked if every part is valid.
  const { databaseHost, databasePort, databaseName, databaseUser, databasePassword, ...others } = values
  const { searchUser, searchPassword, ...config } = others
  const database = { url: config.databaseUrl, host: databaseHost, port: databasePort, name: databaseName }
  if (allRead(database) && allRead({ databaseUser, databasePassword })) {
    const login = { name: 'TIDEMARK_DATABASE', user: databaseUser, password: databasePassword } as Login
    config.databaseUrl = databaseAddress(database as DatabaseParts, login, faults)
  }
  if (allRead({ nodes: config.searchUrl, searchUser, searchPassword })) {
    const login = { name: 'TIDEMARK_SEARCH', user: searchUser, password: searchPassword } as Login
    config.searchUrl = searchAddresses(config.searchUrl!, login, faults)
  }
  if (database.url === null && database.host === null && config.roles !== undefined && config.roles.length < 2) {
    faults.push(
      'TIDEMARK_ROLES splits the work between processes: they need a TIDEMARK_DATABASE_URL or TIDEMARK_DATABASE_HOST that they share',
    )
  }
  const tracing = readTracing(environment, faults)
  if (faults.length > 0) throw new ConfigError([...new Set(faults)])
  return { ...config, tracing } as Config
}

const allRead = (values: object): boolean => Object.values(values).every((value) => value !== undefined)

/** Returns null if nothing is set; undefined after adding a fault. */
function givenText(key: string, environment: Given, overrides: Given, faults: string[]): string | null | undefined {
  const name = environmentName(key)
  if (!secrets.includes(key)) return (overrides[name] ?? environment[name]) || null
  const file = name + fileSuffix
  const given = overrides[name] === undefined && overrides[file] === undefined ? environment : overrides
  const { [name]: text, [file]: path } = given
  if (!path) return text || null
  if (text) {
    faults.push(`${name} and ${file} are both set: keep one of them`)
    return undefined
  }
  try {
    return secretIn(path)
  } catch (error) {
    // The secret itself may have been set here by mistake.
    const named = /^(\.{0,2}|~)\//.test(path) && !path.includes('@') ? quoted(path) : lengthOf(path)
    faults.push(`${file} names ${named}, which cannot be used: ${reasonOf(error)}`)
    return undefined
  }
}

/** Reads a secret file, without its final newline. */
function secretIn(path: string): string {
  const stat = statSync(path)
  if (!stat.isFile()) throw new Error('it is not a file')
  if (stat.size > secretFileBytesMax) throw new Error(`it has more than ${secretFileBytesMax} bytes`)
  const content = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  if (content === '') throw new Error('it is empty')
  return content
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'this user may not read it'
  return code ?? message
}

/** The environment variables to ignore: --database-url overrides all parts; --database-host overrides the URL. */
function overriddenBy(overrides: Given): ReadonlySet<string> {
  const has = (key: string): boolean =>
    overrides[environmentName(key)] !== undefined || overrides[environmentName(key) + fileSuffix] !== undefined
  const parts = ['databaseHost', 'databasePort', 'databaseName', 'databaseUser', 'databasePassword']
  const keys = [...(has('databaseUrl') ? parts : []), ...(has('databaseHost') ? ['databaseUrl'] : [])]
  return new Set(keys.map(environmentName))
}

interface DatabaseParts {
  readonly url: string | null
  readonly host: string | null
  readonly port: number | null
  readonly name: string | null
}

interface Login {
  readonly name: 'TIDEMARK_DATABASE' | 'TIDEMARK_SEARCH'
  readonly user: string | null
  readonly password: string | null
}

function databaseAddress({ url, host, port, name }: DatabaseParts, login: Login, faults: string[]): string | null {
  if (url !== null) {
    for (const [part, value] of Object.entries({ HOST: host, PORT: port, NAME: name })) {
      if (value !== null)
        faults.push(`TIDEMARK_DATABASE_URL and TIDEMARK_DATABASE_${part} are both set: keep one of them`)
    }
    return withLogin(url, login, faults)
  }
  if (host === null) {
    for (const [part, value] of Object.entries({ PORT: port, NAME: name })) {
      if (value !== null) faults.push(`TIDEMARK_DATABASE_${part} is set, so TIDEMARK_DATABASE_HOST must be set too`)
    }
    refuseLogin(login, faults)
    return null
  }
  if (name === null) {
    faults.push('TIDEMARK_DATABASE_HOST is set, so TIDEMARK_DATABASE_NAME must be the name of a database')
    return null
  }
  return withLogin(`postgres://${host.includes(':') ? `[${host}]` : host}:${port ?? 5432}/${name}`, login, faults)
}

function searchAddresses(nodes: readonly string[] | null, login: Login, faults: string[]): readonly string[] | null {
  if (nodes === null) refuseLogin(login, faults)
  return nodes?.map((node) => withLogin(node, login, faults)) ?? null
}

function withLogin(address: string, { name, user, password }: Login, faults: string[]): string {
  const url = URL.parse(address)
  if (url === null) {
    faults.push(`${name}_HOST is not a host name or address`)
    return address
  }
  for (const [part, value, own] of [
    ['user', user, url.username || url.searchParams.get('user')],
    ['password', password, url.password || url.searchParams.get('password')],
  ] as const) {
    if (value === null) continue
    if (own) faults.push(`${name}_URL has a ${part}, and ${name}_${part.toUpperCase()} is set too: keep one of them`)
    // The address of a socket has no host, so user and password cannot precede it.
    if (url.host === '') url.searchParams.set(part, value)
    else url[part === 'user' ? 'username' : 'password'] = encodeURIComponent(value)
  }
  return user === null && password === null ? address : url.href
}

function refuseLogin({ name, user, password }: Login, faults: string[]): void {
  const needed = name === 'TIDEMARK_DATABASE' ? `${name}_URL or ${name}_HOST` : `${name}_URL`
  for (const [part, value] of Object.entries({ USER: user, PASSWORD: password })) {
    if (value !== null) faults.push(`${name}_${part} is set, so ${needed} must be set too`)
  }
}

/** Whether the setting's value can be shown, because it never contains a secret. */
const isPlain = (key: string): boolean => !secrets.includes(key) && !/(Url|Host|Name|User)$/.test(key)

/**
 * A wrong secret is still a secret, and any setting may contain an address with a password by mistake, so such values
 * are not shown.
 */
function shown(key: string, text: string): string {
  return isPlain(key) && !text.includes('@') ? quoted(text) : lengthOf(text)
}

const lengthOf = (text: string): string => `a text of ${text.length} characters`
