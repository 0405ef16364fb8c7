import { resolve } from 'node:path'
import { quoted } from './quoted.ts'
import { parseS3Address, s3AddressExpected } from './s3-address.ts'

/**
 * The settings of an instance: one table, read once, all faults reported together. Nothing else reads the environment.
 * Each setting is an environment variable and, under the same name, a flag of `serve` (TIDEMARK_DATA_DIR, --data-dir).
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
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
type LogLevel = (typeof logLevels)[number]

/** `api` answers requests, `worker` does what nobody waits for. One process usually does both. */
const roles = ['api', 'worker'] as const
export type Role = (typeof roles)[number]

interface Setting<T> {
  readonly fallback: string | null
  readonly about: string
  /** What it may be, as the end of the sentence "… but it must be". */
  readonly expected: string
  /** undefined where the text is not acceptable. */
  readonly parse: (text: string) => T | undefined
}

const integer = (least: number, most: number) => (text: string) => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return value >= least && value <= most ? value : undefined
}

const settings: { readonly [K in keyof Config]: Setting<Config[K]> } = {
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
    fallback: './data',
    about: 'the folder for all data of the instance',
    expected: 'the path of a folder',
    parse: (text) => (text.trim() === '' || text.includes('\0') ? undefined : resolve(text)),
  },
  adminToken: {
    fallback: null,
    about: 'the admin token; if not set, one is created and printed once',
    expected: '16 to 256 printable characters without spaces',
    parse: (text) => (/^[\x21-\x7e]{16,256}$/.test(text) ? text : undefined),
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
  databaseConnectionsMax: {
    fallback: '10',
    about: 'maximum connections of this process to the database, plus two',
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
  searchKey: {
    fallback: null,
    about: 'the API key for that cluster, if it does not use a user and password',
    expected: 'up to 4096 printable characters without spaces',
    parse: (text) => (/^[\x21-\x7e]{1,4096}$/.test(text) ? text : undefined),
  },
  searchPrefix: {
    fallback: 'tidemark',
    about: 'prefix for the names of its indexes; each instance on a cluster needs its own',
    expected: 'up to 64 lower-case letters, digits and hyphens, a letter first',
    parse: (text) => (/^[a-z][a-z0-9-]{0,63}$/.test(text) ? text : undefined),
  },
  searchShards: {
    fallback: '1',
    about: 'shards of new indexes there; one is enough for about ten million chunks',
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
    about: 'milliseconds for a JSON body to arrive, or for an NDJSON stream to stand still, before the answer is 408',
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
    about: 'an OpenAI-compatible embedding endpoint; if not set, the built-in models',
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

/** Settings of products of the same family that this version does not have yet must not be ignored in silence. */
const prefix = 'TIDEMARK_'

/** What examples take a caller's key from. No settings, but set in the shell from which people start commands too. */
const keysOfCallers = ['TIDEMARK_KEY', 'TIDEMARK_COLLECTOR_KEY']

export const environmentName = (key: string): string => prefix + key.replace(/[A-Z]/g, (c) => `_${c}`).toUpperCase()
const flagName = (key: string): string => `--${key.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`

/** For the command line's help: every setting with its flag, default and meaning. */
export const settingHelp: readonly { flag: string; environment: string; about: string; fallback: string | null }[] =
  Object.entries(settings).map(([key, setting]) => ({
    flag: flagName(key),
    environment: environmentName(key),
    about: setting.about,
    fallback: setting.fallback,
  }))

/** One line for each wrong setting: its name, what it was, what it may be. */
export class ConfigError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'ConfigError'
    this.faults = faults
  }
}

/** `overrides` are the flags, by their environment names; they win over the environment. */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  overrides: Readonly<Record<string, string | undefined>> = {},
): Config {
  const faults: string[] = []
  const values: Record<string, unknown> = {}
  const known = new Set<string>()
  for (const [key, setting] of Object.entries(settings)) {
    const name = environmentName(key)
    known.add(name)
    const given = overrides[name] ?? environment[name]
    const text = given === undefined || given === '' ? setting.fallback : given
    if (text === null) {
      values[key] = key === 'corsOrigins' ? [] : null
      continue
    }
    const value = setting.parse(text)
    if (value === undefined) faults.push(`${name} is ${shown(key, text)}, but it must be ${setting.expected}`)
    values[key] = value
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
  const roles = values.roles as readonly Role[] | undefined
  if (values.databaseUrl === null && roles !== undefined && roles.length < 2) {
    faults.push('TIDEMARK_ROLES splits the work between processes: they need a TIDEMARK_DATABASE_URL that they share')
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return values as unknown as Config
}

/** A wrong secret is still a secret. */
function shown(key: string, text: string): string {
  const secret = ['adminToken', 'databaseUrl', 'artifactsUrl', 'searchUrl', 'searchKey', 'embeddingKey', 'rerankUrl']
  return secret.includes(key) ? `a text of ${text.length} characters` : quoted(text)
}
