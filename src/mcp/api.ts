import type { ErrorDetail } from '../errors.ts'

/** One request of the API, made for the application whose agent asks. */
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

/** How requests are made: in this process, on the way of every other one. */
export type MakeRequest = (request: ApiRequest) => Promise<ApiAnswer>

/** What the API refused, in its own words. */
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

/** A value of a query string; lists are one text with commas, and what is undefined is left out. */
type QueryValue = string | number | boolean | readonly string[] | undefined

/** The routes as tools ask them. What they answer is typed by who asks: OpenAPI says it. */
export class Api {
  #make: MakeRequest

  constructor(make: MakeRequest) {
    this.#make = make
  }

  async get<Answer>(path: string, query: Readonly<Record<string, QueryValue>> = {}): Promise<Answer> {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(',') : String(value)] as const],
    )
    return this.#json(await this.#make({ method: 'GET', path, query: Object.fromEntries(given) }))
  }

  async post<Answer>(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#json(await this.#make({ method: 'POST', path, body, headers }))
  }

  /** The bytes of a file. By a range, because a whole one may be answered with the address of a bucket. */
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
