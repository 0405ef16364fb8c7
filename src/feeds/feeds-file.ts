import { readFileSync } from 'node:fs'
import { type Static, Type } from 'typebox'
import { fileFault } from '../platform/file-fault.ts'
import { parseYaml, YamlFault } from '../platform/parse-yaml.ts'
import { codePattern, detailsOf, messageOf, strict, validatorFor } from '../platform/validation.ts'
import { ConfigError } from '../settings/config.ts'
import { allowedNetworks, isPublicAddress } from './public-address.ts'

const address = Type.String({ pattern: '^https?://', maxLength: 4096 })
const language = Type.Optional(Type.String({ pattern: '^[a-z]{2,3}$' }))
/** The file that says which feeds to collect and where to send them. */
const File = Type.Object(
  {
    server: address,
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
    key_env: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
    dataset: Type.String({ minLength: 1, maxLength: 128 }),
    platform: Type.String({ minLength: 1, maxLength: 128, pattern: codePattern }),
    feeds: Type.Array(Type.Union([address, Type.Object({ url: address, language }, strict)]), {
      minItems: 1,
      maxItems: 10_000,
    }),
    every_minutes: Type.Optional(Type.Number({ minimum: 0.01, maximum: 10_080 })),
    poll_seconds: Type.Optional(Type.Number({ minimum: 0.1, maximum: 240 })),
    lease_seconds: Type.Optional(Type.Integer({ minimum: 3, maximum: 900 })),
    checkpoint: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
    allow_private_addresses: Type.Optional(
      Type.Union([Type.Boolean(), Type.Array(Type.String({ maxLength: 128 }), { maxItems: 1000 })]),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          bytes: Type.Optional(Type.Integer({ minimum: 1024, maximum: 268_435_456 })),
          seconds: Type.Optional(Type.Number({ minimum: 0.1, maximum: 600 })),
          redirects: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
          entries: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
          host_pause_seconds: Type.Optional(Type.Number({ minimum: 0, maximum: 60 })),
          feeds_at_once: Type.Optional(Type.Integer({ minimum: 1, maximum: 64 })),
        },
        strict,
      ),
    ),
  },
  strict,
)
const validate = validatorFor(File, 'body')

export interface FeedsConfig {
  readonly server: string
  readonly key: string
  readonly dataset: string
  readonly platform: string
  readonly feeds: readonly Feed[]
  readonly everyMs: number
  readonly pollMs: number
  readonly leaseSeconds: number
  readonly checkpoint: string
  /** Whether connections to an address are allowed. */
  readonly allows: (address: string) => boolean
  readonly bytesMax: number
  readonly timeoutMs: number
  readonly redirectsMax: number
  readonly entriesMax: number
  readonly hostPauseMs: number
  readonly feedsAtOnce: number
}

export interface Feed {
  readonly url: string
  /** The language of entries that do not state one, if the feed does not either. */
  readonly language: string | undefined
}

export function readFeedsFile(path: string, environment: Readonly<Record<string, string | undefined>>): FeedsConfig {
  const fail = (message: string) => new ConfigError([`${path}: ${message}`])
  let content: unknown
  try {
    content = parseYaml(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof YamlFault) throw fail(error.message)
    throw fail(fileFault(error))
  }
  if (!validate(content)) throw fail(messageOf(detailsOf(validate.errors)).replace(/^the body/, 'the file'))
  const file = content as Static<typeof File>
  const key = file.key ?? (file.key_env === undefined ? undefined : environment[file.key_env])
  if (key === undefined || key === '') {
    throw fail(
      file.key_env === undefined
        ? 'key or key_env is required: a collector key, or the environment variable that holds it'
        : `key_env names ${file.key_env}, which is not set`,
    )
  }
  const feeds = file.feeds.map((one): Feed => {
    const feed = typeof one === 'string' ? { url: one, language: undefined } : one
    return { url: feed.url, language: feed.language }
  })
  const wrong = [file.server, ...feeds.map(({ url }) => url)].find((url) => !URL.canParse(url))
  if (wrong !== undefined) throw fail(`${JSON.stringify(wrong)} is not a valid URL`)
  const seen = new Set<string>()
  const duplicate = feeds.find(({ url }) => seen.size === seen.add(url).size)
  if (duplicate !== undefined) throw fail(`the feed ${duplicate.url} is listed twice`)
  const allowPrivate = file.allow_private_addresses ?? false
  const listed = typeof allowPrivate === 'boolean' ? () => allowPrivate : allowedNetworks(allowPrivate)
  if (listed === null) throw fail('allow_private_addresses must be true, false, or a list of addresses and networks')
  const { limits = {} } = file
  return {
    server: file.server,
    key,
    dataset: file.dataset,
    platform: file.platform,
    feeds,
    everyMs: (file.every_minutes ?? 15) * 60_000,
    pollMs: (file.poll_seconds ?? 5) * 1000,
    leaseSeconds: file.lease_seconds ?? 60,
    checkpoint: file.checkpoint ?? `${path}.checkpoint`,
    allows: (address) => isPublicAddress(address) || listed(address),
    bytesMax: limits.bytes ?? 10_485_760,
    timeoutMs: (limits.seconds ?? 30) * 1000,
    redirectsMax: limits.redirects ?? 5,
    entriesMax: limits.entries ?? 1000,
    hostPauseMs: (limits.host_pause_seconds ?? 1) * 1000,
    feedsAtOnce: limits.feeds_at_once ?? 4,
  }
}
