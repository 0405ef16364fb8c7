import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { documentOf, type Sent, send } from './content.ts'
import { expectError } from './expect-error.ts'
import { type Answer, freshFolder, sharedServer, startServer, type TestServer } from './harness.ts'

/** Requests and answers of the catalog tests, in the terms of the API. Uses only HTTP. */
export type Parameters = Readonly<Record<string, string | number | boolean>>

export interface Item {
  // As loosely typed as the result of JSON.parse.
  readonly document: ReturnType<typeof JSON.parse>
  readonly snapshot?: ReturnType<typeof JSON.parse>
}

export interface Listing {
  readonly documents: readonly Item[]
  readonly next_cursor?: string
  readonly created_from: string | null
  readonly created_to: string | null
}

export const browsePath = '/v1/documents/browse'
export const dayMs = 86_400_000
export const iso = (timeMs: number): string => new Date(timeMs).toISOString()
export const ago = (days: number): string => iso(Date.now() - days * dayMs)

/** A clock that a test can set back for a running server, so that ingested documents are as old as the test needs. */
export class SetBackClock {
  #file = join(freshFolder(), 'back-by-ms')
  readonly env: Readonly<Record<string, string>>

  constructor() {
    this.backBy(0)
    const script = `import { readFileSync } from 'node:fs'; const now = Date.now; Date.now = () => now() - Number(readFileSync(${JSON.stringify(this.#file)}, 'utf8'))`
    this.env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` }
  }

  backBy(ms: number): void {
    // Renamed into place, because the server must never read a half-written file.
    writeFileSync(`${this.#file}.next`, String(ms))
    renameSync(`${this.#file}.next`, this.#file)
  }
}

/** The names of two datasets that no other file uses, because the files share a server. */
export interface Datasets {
  readonly news: string
  readonly forum: string
}
export const datasetsOf = (file: string): Datasets => ({ news: `${file}-news`, forum: `${file}-forum` })

/** A server with two datasets, a collector for them and an application that may read everything. */
export class Catalog {
  readonly server: TestServer
  readonly collector: string
  /** The key of an application that may read everything in both datasets. */
  readonly key: string
  /** The dataset of documents that are sent without one. */
  readonly #dataset: string

  private constructor(server: TestServer, collector: string, key: string, dataset: string) {
    this.server = server
    this.collector = collector
    this.key = key
    this.#dataset = dataset
  }

  /** On the shared server, or on a separate one if there are settings. */
  static async start({ news, forum }: Datasets, env?: Readonly<Record<string, string>>): Promise<Catalog> {
    const server = env === undefined ? await sharedServer() : await startServer({ env })
    await server.makeDataset(news)
    await server.makeDataset(forum)
    const { key: collector } = await server.makeCollector()
    const { key } = await server.makeApplication({ entitlements: [{ datasets: [news, forum] }] })
    return new Catalog(server, collector, key, news)
  }

  /** Sends documents in one batch and returns their ids, in order. Names are external ids. */
  async send(documents: Readonly<Record<string, Sent>>): Promise<string[]> {
    const batch = Object.entries(documents).map(([name, fields]) =>
      documentOf(name, { dataset_id: this.#dataset, ...fields }),
    )
    return (await send(this.server, this.collector, batch)).map((result) => {
      assert.ok(result.document_id !== undefined, JSON.stringify(result))
      return result.document_id
    })
  }

  async keyFor(...entitlements: readonly object[]): Promise<string> {
    return (await this.server.makeApplication({ entitlements })).key
  }

  get(path: string, parameters: Parameters = {}, key: string = this.key): Promise<Answer> {
    const query = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]))
    return this.server.consumer(key, 'GET', query.size === 0 ? path : `${path}?${query}`)
  }

  /** Returns one page. Throws for any status other than 200. */
  async list(parameters: Parameters = {}, key: string = this.key, path: string = browsePath): Promise<Listing> {
    const answer = await this.get(path, parameters, key)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  /** The external ids of one page, in its order. */
  async names(parameters: Parameters = {}, key: string = this.key, path: string = browsePath): Promise<string[]> {
    return (await this.list(parameters, key, path)).documents.map(({ document }) => document.external_id)
  }

  /** Every page to the end. */
  async pages(parameters: Parameters, key: string = this.key, path: string = browsePath): Promise<Listing[]> {
    const pages: Listing[] = []
    let page = await this.list(parameters, key, path)
    for (;;) {
      pages.push(page)
      if (page.next_cursor === undefined) return pages
      page = await this.list({ ...parameters, cursor: page.next_cursor }, key, path)
    }
  }

  /** A refusal that names the wrong parameter. */
  async refused(
    parameters: Parameters,
    at: string,
    { path = browsePath, code = 'invalid_document_query', key = this.key } = {},
  ): Promise<void> {
    const answer = await this.get(path, parameters, key)
    await expectError(this.server, answer, 400, code)
    assert.ok(answer.body.message.includes(at), answer.text)
    assert.ok(
      answer.body.details.some((detail: { path: string }) => detail.path === at),
      answer.text,
    )
  }

  async denied(parameters: Parameters, key: string, path: string = browsePath): Promise<void> {
    await expectError(this.server, await this.get(path, parameters, key), 403, 'entitlement_denied')
  }
}
