import type { ErrorDetail } from '../platform/errors.ts'
import { pathSegment, pathSegmentRule } from '../platform/path-segment.ts'

/** A request to the API on behalf of the application whose agent calls a tool. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export interface ApiAnswer {
  readonly status: number
  readonly retryAfterSeconds: number | null
  readonly bytes: Uint8Array
}

/** Makes a request in this process, through the same routes as any other request. */
export type MakeRequest = (request: ApiRequest) => Promise<ApiAnswer>

/** An error answer of the API, with its code and message. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly details: readonly ErrorDetail[]
  readonly retryAfterSeconds: number | null

  constructor(
    { status, retryAfterSeconds }: Pick<ApiAnswer, 'status' | 'retryAfterSeconds'>,
    error: { readonly code: string; readonly message: string; readonly details?: readonly ErrorDetail[] },
  ) {
    super(error.message)
    this.status = status
    this.code = error.code
    this.details = error.details ?? []
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Encodes a text from an agent as one segment of a path. Throws if that is impossible. */
export function segmentOf(argument: string, value: string): string {
  const segment = pathSegment(value)
  if (segment === null) throw invalidArgument(argument, pathSegmentRule)
  return segment
}

function invalidArgument(path: string, message: string): Refusal {
  const refused = { code: 'invalid_arguments', message: `${path} ${message}`, details: [{ path, message }] }
  return new Refusal({ status: 400, retryAfterSeconds: null }, refused)
}

/** A value of a query string. A list becomes one text with commas; undefined values are left out. */
type QueryValue = string | number | boolean | readonly string[] | undefined

/** A client of the API for tools. The caller names the type of a response, which OpenAPI describes. */
export class Api {
  #make: MakeRequest

  constructor(make: MakeRequest) {
    this.#make = make
  }

  async get<Answer>(path: string, query: Readonly<Record<string, QueryValue>> = {}): Promise<Answer> {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(',') : String(value)] as const],
    )
    for (const [name, text] of given) {
      if (!text.isWellFormed()) throw invalidArgument(name, 'must not contain an unpaired surrogate')
    }
    return this.#json(await this.#make({ method: 'GET', path, query: Object.fromEntries(given) }))
  }

  async post<Answer>(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#json(await this.#make({ method: 'POST', path, body, headers }))
  }

  /**
   * Returns the bytes of a file. It is requested as a range, because the response for a whole file may be a redirect.
   */
  async file(path: string): Promise<Uint8Array> {
    const answer = await this.#make({ method: 'GET', path, headers: { range: 'bytes=0-' } })
    if (answer.status >= 300) this.#json(answer)
    return answer.bytes
  }

  #json<Answer>(answer: ApiAnswer): Answer {
    const body = JSON.parse(new TextDecoder().decode(answer.bytes))
    if (answer.status >= 300) throw new Refusal(answer, body)
    return body
  }
}
