import { readFileSync } from 'node:fs'
import { quoted } from '../platform/quoted.ts'

/**
 * The settings of tracing: OpenTelemetry's standard variables. They have no flags. An endpoint switches tracing on;
 * without one the others are ignored.
 */
export interface TracingSettings {
  readonly endpoint: string
  readonly protocol: Protocol
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly compression: Compression
  /** The content of files. */
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer }
  readonly serviceName: string | null
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: SamplerName
  /** The share of traces that `traceidratio` keeps. */
  readonly ratio: number
  /** Whether `traceparent` is read and sent. */
  readonly propagates: boolean
  readonly delayMs: number
  readonly exportTimeoutMs: number
  readonly queueMax: number
  readonly batchMax: number
}

const protocols = ['http/protobuf', 'http/json'] as const
type Protocol = (typeof protocols)[number]

const compressions = ['none', 'gzip'] as const
type Compression = (typeof compressions)[number]

const samplers = [
  ...(['always_on', 'always_off', 'traceidratio'] as const),
  ...(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'] as const),
]
export type SamplerName = (typeof samplers)[number]

interface Variable<T> {
  readonly name: string
  readonly fallback: string | null
  readonly about: string
  /** The valid values, as the end of "… but it must be". */
  readonly expected: string
  /** Returns undefined if the text is not valid. */
  readonly parse: (text: string) => T | undefined
  /** A variable for traces alone also exists. It takes precedence over the one for all signals. */
  readonly alsoForTraces?: true
  readonly isSecret?: true
}

const number = (least: number, most: number) => ({
  expected: `a whole number from ${least} to ${most}`,
  parse: (text: string): number | undefined => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= least && value <= most ? value : undefined
  },
})

const oneOf = <T extends string>(choices: readonly T[]) => ({
  expected: `one of ${choices.join(', ')}`,
  parse: (text: string): T | undefined => choices.find((one) => one === text),
})

const file = {
  expected: 'the path of a PEM file that this user may read',
  parse: (path: string): Buffer | undefined => {
    try {
      return readFileSync(path)
    } catch {
      return undefined
    }
  },
}

const isAddress = (text: string): boolean => {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null
  return url !== null && url.username === '' && url.password === '' && url.hash === ''
}

/** Parses `name=value,name=value`, with special characters written as %XX; returns null for anything else. */
function pairsIn(text: string): Record<string, string> | null {
  const pairs: Record<string, string> = {}
  for (const part of text.split(',')) {
    if (part.trim() === '') continue
    const [, name, value] = /^([^=]+)=(.*)$/.exec(part.trim()) ?? []
    if (name === undefined) return null
    try {
      pairs[decodeURIComponent(name.trim())] = decodeURIComponent(value!.trim())
    } catch {
      return null
    }
  }
  return pairs
}

const pairs = (isPair: (name: string, value: string) => boolean) => (text: string) => {
  const found = pairsIn(text)
  return found !== null && Object.entries(found).every(([name, value]) => isPair(name, value)) ? found : undefined
}

const isHeader = (name: string, value: string): boolean =>
  /^[\w!#$%&'*+.^`|~-]{1,256}$/.test(name) && /^[\x20-\x7e]{0,8192}$/.test(value)

const variables = {
  endpoint: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    fallback: null,
    about: 'the OpenTelemetry collector that traces are sent to, `/v1/traces` is added; if not set, nothing is traced',
    expected: 'an http or https address without user name and password, such as http://127.0.0.1:4318',
    parse: (text: string) => (isAddress(text) && !text.includes('?') ? text : undefined),
    isSecret: true,
  },
  tracesEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    fallback: null,
    about: 'the same as a complete address, to which nothing is added; it takes precedence',
    expected: 'an http or https address without user name and password, such as http://127.0.0.1:4318/v1/traces',
    parse: (text: string) => (isAddress(text) ? text : undefined),
    isSecret: true,
  },
  protocol: {
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    fallback: 'http/protobuf',
    about: 'how they are written: http/protobuf or http/json',
    ...oneOf(protocols),
    alsoForTraces: true,
  },
  headers: {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    fallback: '',
    about: 'headers to send with them, such as `authorization=Bearer%20…`',
    expected: 'name=value pairs of headers, comma-separated, with spaces written as %20',
    parse: pairs(isHeader),
    alsoForTraces: true,
    isSecret: true,
  },
  timeoutMs: {
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    fallback: '10000',
    about: 'milliseconds to send one batch, including retries',
    ...number(1, 600_000),
    alsoForTraces: true,
  },
  compression: {
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    fallback: 'none',
    about: 'none or gzip',
    ...oneOf(compressions),
    alsoForTraces: true,
  },
  ca: {
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    fallback: null,
    about: 'a PEM file with the certificate authorities that verify the collector',
    ...file,
    alsoForTraces: true,
  },
  cert: {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    fallback: null,
    about: 'a PEM file with the certificate of this process for the collector',
    ...file,
    alsoForTraces: true,
  },
  key: {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    fallback: null,
    about: 'a PEM file with the key of that certificate',
    ...file,
    alsoForTraces: true,
  },
  serviceName: {
    name: 'OTEL_SERVICE_NAME',
    fallback: null,
    about: 'the name of this service in traces; if not set, tidemark',
    expected: 'up to 256 characters without line breaks',
    parse: (text: string) => (/^\P{C}{1,256}$/u.test(text) ? text : undefined),
  },
  resource: {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    fallback: '',
    about: 'attributes of this process in traces, such as `deployment.environment.name=production`',
    expected: 'name=value pairs, comma-separated, with commas and spaces in values written as %2C and %20',
    parse: pairs((name, value) => name.length <= 256 && value.length <= 4096),
  },
  sampler: {
    name: 'OTEL_TRACES_SAMPLER',
    fallback: 'parentbased_always_on',
    about: 'which traces are kept; with `parentbased_` a caller that sends `traceparent` decides for its requests',
    ...oneOf(samplers),
  },
  ratio: {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    fallback: '1',
    about: 'the share that `traceidratio` and `parentbased_traceidratio` keep',
    expected: 'a number from 0 to 1',
    parse: (text: string) => (/^(0|1|0?\.\d{1,9}|1\.0+)$/.test(text) ? Number(text) : undefined),
  },
  propagators: {
    name: 'OTEL_PROPAGATORS',
    fallback: 'tracecontext,baggage',
    about:
      '`tracecontext` reads and sends `traceparent`, `none` does not; no baggage is passed on, whether named or not',
    expected: 'tracecontext, baggage or both, comma-separated, or none',
    parse: (text: string) => {
      const named = text.split(',').map((one) => one.trim())
      if (named.join() === 'none') return []
      return named.every((one) => one === 'tracecontext' || one === 'baggage') ? named : undefined
    },
  },
  delayMs: {
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    fallback: '5000',
    about: 'milliseconds between two batches',
    ...number(1, 600_000),
  },
  exportTimeoutMs: {
    name: 'OTEL_BSP_EXPORT_TIMEOUT',
    fallback: '30000',
    about: 'milliseconds after which a batch counts as lost',
    ...number(1, 600_000),
  },
  queueMax: {
    name: 'OTEL_BSP_MAX_QUEUE_SIZE',
    fallback: '2048',
    about: 'spans kept in memory until they are sent; others are dropped and counted',
    ...number(1, 1_000_000),
  },
  batchMax: {
    name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    fallback: '512',
    about: 'spans sent together, no more than the queue has',
    ...number(1, 1_000_000),
  },
} as const satisfies Readonly<Record<string, Variable<unknown>>>

const forTraces = (name: string): string => name.replace('_OTLP_', '_OTLP_TRACES_')

/** These switch tracing off, whatever else is set. */
const switches = [
  { environment: 'OTEL_SDK_DISABLED', fallback: 'false', about: 'true switches traces off, whatever else is set' },
  { environment: 'OTEL_TRACES_EXPORTER', fallback: 'otlp', about: 'none switches traces off too' },
]

/** Every variable, for the documentation. */
export const tracingHelp: readonly { environment: string; fallback: string | null; about: string }[] = [
  ...Object.values<Variable<unknown>>(variables).flatMap(({ name, fallback, about, alsoForTraces }) => {
    const own = { environment: name, fallback, about }
    const besides = {
      environment: forTraces(name),
      fallback: null,
      about: 'the same for traces alone; it takes precedence',
    }
    return alsoForTraces === true ? [own, besides] : [own]
  }),
  ...switches,
]

type Values = {
  -readonly [K in keyof typeof variables]: Exclude<ReturnType<(typeof variables)[K]['parse']>, undefined>
}

/** Returns null if tracing is off. Adds wrong values to the faults. */
export function readTracing(
  environment: Readonly<Record<string, string | undefined>>,
  faults: string[],
): TracingSettings | null {
  const given = (name: string): string | null => environment[name]?.trim() || null
  const endpoints = [variables.endpoint.name, variables.tracesEndpoint.name]
  if (endpoints.every((name) => given(name) === null)) return null
  const disabled = given('OTEL_SDK_DISABLED')?.toLowerCase() ?? 'false'
  if (disabled === 'true') return null
  const exporter = given('OTEL_TRACES_EXPORTER') ?? 'otlp'
  if (exporter === 'none') return null
  const faultsBefore = faults.length
  if (disabled !== 'false') faults.push(`OTEL_SDK_DISABLED is ${quoted(disabled)}, but it must be true or false`)
  if (exporter !== 'otlp') faults.push(`OTEL_TRACES_EXPORTER is ${quoted(exporter)}, but it must be otlp or none`)

  const values: { [K in keyof Values]?: Values[K] | null } = {}
  const read = (name: string, { parse, expected, isSecret }: Variable<unknown>, text: string): unknown => {
    const value = parse(text)
    const shown = isSecret === true ? `a text of ${text.length} characters` : quoted(text)
    if (value === undefined) faults.push(`${name} is ${shown}, but it must be ${expected}`)
    return value
  }
  for (const [key, variable] of Object.entries<Variable<unknown>>(variables)) {
    const { name, fallback, alsoForTraces } = variable
    const special = alsoForTraces === true && given(forTraces(name)) !== null ? forTraces(name) : name
    const text = given(special) ?? fallback
    const value = text === null ? null : read(special, variable, text)
    Object.assign(values, { [key]: value })
  }
  // Headers for traces are added to those for all signals.
  const common = given(variables.headers.name)
  if (common !== null && given(forTraces(variables.headers.name)) !== null) {
    const headers = read(variables.headers.name, variables.headers, common)
    Object.assign(values, { headers: { ...(headers as object), ...values.headers } })
  }
  const { batchMax, queueMax } = values
  if (batchMax != null && queueMax != null && batchMax > queueMax) {
    if (given(variables.batchMax.name) === null) values.batchMax = queueMax
    else
      faults.push(
        `OTEL_BSP_MAX_EXPORT_BATCH_SIZE is ${batchMax}, but it must be no more than OTEL_BSP_MAX_QUEUE_SIZE, ${queueMax}`,
      )
  }
  if ((values.cert === null) !== (values.key === null)) {
    faults.push(`${variables.cert.name} and ${variables.key.name} go together: set both or none of them`)
  }
  if (faults.length > faultsBefore) return null
  const { endpoint, tracesEndpoint, ca, cert, key, propagators, ...others } = values as Values
  return {
    ...others,
    endpoint: tracesEndpoint ?? `${endpoint.replace(/\/$/, '')}/v1/traces`,
    tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
    propagates: propagators.includes('tracecontext'),
  }
}
