import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

/** A span as OTLP encodes it in JSON. */
export interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code: number; readonly message?: string }
  readonly attributes: readonly Attribute[]
}

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string }
}

interface Sent {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** An OpenTelemetry collector in this process, which can be made to fail. */
export class TraceReceiver {
  behaviour: 'takes' | 'refuses' | 'hangs' = 'takes'
  /** How many spans of each accepted batch the response reports as rejected. */
  rejects = 0
  /** All requests that it has received, including refused ones. */
  readonly sent: Sent[] = []
  readonly #server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      this.sent.push({ path: request.url!, headers: request.headers, bytes: Buffer.concat(parts) })
      this.#answer(request, response)
    })
  })

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.#server.unref()
    return this
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The settings of a server that sends its traces here without delay. */
  get env(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: this.address,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    }
  }

  /** All spans that were sent as JSON. */
  get spans(): SentSpan[] {
    return this.resources.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  }

  get resources(): { resource: { attributes: Attribute[] }; scopeSpans: { spans: SentSpan[] }[] }[] {
    return this.sent.flatMap(({ headers, bytes }) => {
      const text = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
      return JSON.parse(text).resourceSpans
    })
  }

  #answer({ headers }: IncomingMessage, response: ServerResponse): void {
    if (this.behaviour === 'hangs') return
    const type = headers['content-type']!
    response.writeHead(this.behaviour === 'takes' ? 200 : 503, { 'content-type': type })
    if (type !== 'application/json') response.end(this.rejects === 0 ? '' : partialSuccess(this.rejects))
    // OTLP encodes 64-bit integers in JSON as strings.
    else response.end(this.rejects === 0 ? '{}' : `{"partialSuccess":{"rejectedSpans":"${this.rejects}"}}`)
  }
}

/**
 * Encodes the response in protobuf: partial_success is field 1 and length-delimited; rejected_spans in it is field 1
 * and a varint.
 */
const partialSuccess = (rejected: number): Buffer => Buffer.from([0x0a, 2, 0x08, rejected])

export const attributesOf = ({ attributes }: Pick<SentSpan, 'attributes'>): Record<string, string | number> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]))

/**
 * Returns the names of spans in a protobuf request: resource_spans, scope_spans, spans, name, by the field numbers of
 * the OTLP schema.
 */
export function namesInProtobuf(bytes: Buffer): string[] {
  return [1, 2, 2, 5]
    .reduce((messages, field) => messages.flatMap((message) => fieldsOf(message, field)), [bytes])
    .map((name) => name.toString())
}

/** Returns the length-delimited fields of a message that have this number. */
function fieldsOf(message: Buffer, field: number): Buffer[] {
  const found: Buffer[] = []
  let at = 0
  const number = (): number => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++]!
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const tag = number()
    const wire = tag % 8
    if (wire === 0) number()
    else if (wire === 1) at += 8
    else if (wire === 5) at += 4
    else {
      const length = number()
      if (tag >>> 3 === field) found.push(message.subarray(at, at + length))
      at += length
    }
  }
  return found
}
