import assert from 'node:assert/strict'
import { type Answer, startServer, type TestServer } from './harness.ts'

/**
 * The world of the live tests: a server, an application that may start live queries, and a collector that may serve
 * them.
 */
export class LiveWorld {
  readonly server: TestServer
  readonly key: string
  readonly collector: string

  constructor(server: TestServer, key: string, collector: string) {
    this.server = server
    this.key = key
    this.collector = collector
  }

  lease(body: object = {}, key: string = this.collector): Promise<Answer> {
    return this.server.collector(key, 'POST', '/collector/v1/tasks/lease', { platforms: ['rss'], ...body })
  }

  /** The tasks that are available now. */
  async tasks(body: object = {}, key: string = this.collector): Promise<Answer['body'][]> {
    const answer = await this.lease(body, key)
    assert.equal(answer.status, 200, answer.text)
    return answer.body.tasks
  }

  task(id: string, step: string, body?: unknown, key: string = this.collector): Promise<Answer> {
    return this.server.collector(key, 'POST', `/collector/v1/tasks/${id}/${step}`, body)
  }

  ask(body: object, idempotencyKey: string | null, key = this.key, path = '/v1/live-queries'): Promise<Answer> {
    return this.server.call('POST', path, {
      headers: {
        authorization: `Bearer ${key}`,
        ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body,
    })
  }

  /** Starts a live query. Throws if it is refused. */
  async start(fields: object = {}, idempotencyKey = freshKey(), key = this.key): Promise<Answer['body']> {
    const answer = await this.ask({ ...liveBody, ...fields }, idempotencyKey, key)
    assert.equal(answer.status, 202, answer.text)
    return answer.body
  }

  async status(id: string, key = this.key): Promise<Answer['body']> {
    const answer = await this.server.consumer(key, 'GET', `/v1/live-queries/${id}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  results(id: string, parameters = '', key = this.key): Promise<Answer> {
    return this.server.consumer(key, 'GET', `/v1/live-queries/${id}/results${parameters}`)
  }

  application(policy: object = {}, entitlements: readonly object[] = [{ datasets: ['news'] }]) {
    return this.server.makeApplication({ entitlements, policy: { live: { enabled: true, ...policy } } })
  }
}

export const liveBody = { query: 'harbour', datasets: ['news'], platforms: ['rss'], resource_kind: 'content' }

let keys = 0
export const freshKey = (): string => `key-${++keys}`

export const items = (count: number, prefix = 'item'): object[] =>
  Array.from({ length: count }, (_, i) => ({
    external_id: `${prefix}-${i}`,
    title: `Item ${i}`,
    body: `The harbour, seen for the ${i}th time.`,
  }))

export async function startLiveWorld(): Promise<LiveWorld> {
  const server = await startServer({ env: { TIDEMARK_LOG_LEVEL: 'warn' } })
  for (const dataset of ['news', 'forum']) await server.makeDataset(dataset)
  const { key } = await server.makeApplication({
    entitlements: [{ datasets: ['news', 'forum'] }],
    policy: { live: { enabled: true, max_items_per_platform: 50 } },
  })
  const { key: collector } = await server.makeCollector()
  return new LiveWorld(server, key, collector)
}
