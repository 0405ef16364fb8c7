import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import type { Answer, TestServer } from './harness.ts'

/** Requests and answers of the content tests, in the terms of the API. Uses only HTTP. */
export type Sent = Record<string, unknown>

export interface Result {
  readonly index: number
  readonly document_id?: string
  readonly version_id?: string
  readonly outcome?: string
  readonly error?: {
    readonly code: string
    readonly message: string
    readonly details?: readonly { readonly path: string; readonly message: string }[]
  }
}

export interface FeedEvent {
  readonly sequence: number
  readonly event_id: string
  readonly schema_version: number
  readonly event_type: string
  readonly dataset_id: string
  readonly source_platform: string
  readonly document_id: string
  readonly version_id?: string
  readonly changed_fields: readonly string[]
  readonly occurred_at: string
  readonly observed_at: string
  readonly ingested_at: string
}

export interface FeedPage {
  readonly items: readonly FeedEvent[]
  readonly next_cursor: string
}

/** Makes documents of a dataset. A body alone is enough; tests add other fields. */
export const documentsOf =
  (dataset: string) =>
  (externalId: string, fields: Sent = {}): Sent => ({
    dataset_id: dataset,
    source_platform: 'rss',
    external_id: externalId,
    title: `Title of ${externalId}`,
    body: `Body of ${externalId}`,
    ...fields,
  })
export const documentOf = documentsOf('news')

export const path = '/collector/v1/documents'

/** Sends one JSON batch. Throws for any status other than 200. */
export async function send(server: TestServer, key: string, documents: readonly unknown[]): Promise<Result[]> {
  const answer = await server.collector(key, 'POST', path, { documents })
  assert.equal(answer.status, 200, answer.text)
  return answer.body.results
}

export async function sendOne(server: TestServer, key: string, document: Sent): Promise<Result> {
  const [result] = await send(server, key, [document])
  return result!
}

/** Sends bytes as NDJSON in one piece. */
export function sendLines(server: TestServer, key: string, lines: string | Uint8Array): Promise<Answer> {
  return server.call('POST', path, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' },
    body: lines,
  })
}

/** An NDJSON request that stays open: the test writes it piece by piece and reads the answer meanwhile. */
export class OpenRequest {
  /** The part of the answer that has arrived. */
  text = ''
  status = 0
  headers = new Headers()
  readonly ended: Promise<void>
  #request: ReturnType<typeof httpRequest>
  #changed: () => void = () => {}

  /** `readFrom`: reading the answer starts when it resolves; at once if absent. */
  constructor(server: TestServer, key: string, readFrom: Promise<unknown> = Promise.resolve()) {
    this.#request = httpRequest(new URL(path, server.address), {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' },
    })
    this.ended = new Promise((resolve, reject) => {
      this.#request.on('error', reject)
      this.#request.on('response', (response) => {
        this.status = response.statusCode ?? 0
        this.headers = new Headers({ 'x-request-id': String(response.headers['x-request-id']) })
        void readFrom.then(() => {
          response.setEncoding('utf8').on('data', (text) => {
            this.text += text
            this.#changed()
          })
        })
        response.on('error', reject)
        response.on('end', resolve)
      })
    })
    // Most tests await it, but not those that break the connection.
    this.ended.catch(() => {})
  }

  /** Resolves when the connection has taken the bytes, so a server that stops reading blocks the sender. */
  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.#request.write(bytes)) return
    await Promise.race([new Promise((resolve) => this.#request.once('drain', resolve)), this.ended])
  }

  end(): void {
    this.#request.end()
  }

  /** Breaks the connection. */
  abort(): void {
    this.#request.destroy()
  }

  /** Resolves when the answer so far has this many results. */
  async results(count: number): Promise<void> {
    while ((this.text.match(/"index":/g) ?? []).length < count) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    }
  }

  get parsed(): Result[] {
    return (JSON.parse(this.text) as { results: Result[] }).results
  }
}

/** Returns one page of the feed. Throws for any status other than 200. */
export async function feedPage(
  server: TestServer,
  key: string,
  parameters: Readonly<Record<string, string | number>> = {},
): Promise<FeedPage> {
  const answer = await feedAnswer(server, key, parameters)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

export function feedAnswer(
  server: TestServer,
  key: string,
  parameters: Readonly<Record<string, string | number>> = {},
): Promise<Answer> {
  const query = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]))
  return server.consumer(key, 'GET', `/v1/changes?${query}`)
}

/** All events, with the cursor at the end. */
export async function wholeFeed(
  server: TestServer,
  key: string,
  parameters: Readonly<Record<string, string | number>> = {},
): Promise<{ events: FeedEvent[]; cursor: string }> {
  const events: FeedEvent[] = []
  let page = await feedPage(server, key, { limit: 200, ...parameters })
  while (page.items.length > 0) {
    events.push(...page.items)
    page = await feedPage(server, key, { limit: 200, ...parameters, cursor: page.next_cursor })
  }
  return { events, cursor: page.next_cursor }
}

/** The events after a cursor that was at the end. */
export async function eventsAfter(server: TestServer, key: string, cursor: string): Promise<FeedEvent[]> {
  return [...(await feedPage(server, key, { cursor, limit: 200 })).items]
}
