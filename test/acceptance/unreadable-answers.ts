import assert from 'node:assert/strict'
import { asyncBufferFromUrl, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { until } from '../support/until.ts'
import { type Result, type Sent, send } from './content.ts'
import { fakeProfile } from './fake-embedding.ts'
import type { SearchWorld } from './search-world.ts'
import { type History, markOf, queryWords, vectorOf, type WorldPair } from './unreadable-worlds.ts'

/**
 * One of the two worlds on its server, with all requests. Answers are texts in which names that mean the same in both
 * worlds replace ids, and one word replaces all current times. Everything else must be the same byte for byte.
 */
export class AskedWorld {
  /** The name of the dataset that the reader may read. */
  readonly name: string
  readonly #world: SearchWorld
  readonly #pair: WorldPair
  readonly #histories: readonly History[]
  readonly #closed: readonly Sent[]
  /** The names of ids, from the positions of the document, the version and the chunk. */
  readonly #names = new Map<string, string>()
  readonly #documents: string[] = []
  readonly #versions: string[][] = []
  #key = ''
  #liveQuery: string | null = null

  constructor(world: SearchWorld, pair: WorldPair, side: 0 | 1) {
    this.name = pair.entitlements[0]!.datasets[0]!
    this.#world = world
    this.#pair = pair
    this.#histories = pair.histories[side]
    this.#closed = pair.closed[side]
  }

  /** Makes datasets and applications and sends everything, in the same order on both sides. */
  async fill(): Promise<void> {
    const { server, collector } = this.#world
    const sentOf = [...this.#closed, ...this.#histories.flatMap(({ steps }) => steps)]
    for (const dataset of new Set(sentOf.map((sent) => String(sent.dataset_id)))) await server.makeDataset(dataset)
    const types = ['knn_graph', 'feature_rollup']
    const policy = { analysis_enabled: true, analysis: { types }, live: { enabled: true } }
    this.#key = (await server.makeApplication({ entitlements: this.#pair.entitlements, policy })).key
    for (let version = 0; ; version++) {
      const sent = this.#histories.flatMap(({ steps, isLive }, document) =>
        version < steps.length && !isLive ? [{ document, step: steps[version]! }] : [],
      )
      if (sent.length === 0) break
      const results = await send(
        server,
        collector,
        sent.map(({ step }) => step),
      )
      for (const [i, result] of results.entries()) this.#learn(sent[i]!.document, version, result)
    }
    await this.#fillByLiveQuery()
    if (this.#closed.length > 0) await send(server, collector, this.#closed)
  }

  /** Documents of the reader's live platforms arrive by a live query of its own. All others are sent. */
  async #fillByLiveQuery(): Promise<void> {
    const { server, collector } = this.#world
    const live = this.#histories.flatMap(({ steps, isLive }, document) =>
      isLive ? [{ document, step: steps[0]! }] : [],
    )
    for (const platform of ['board', 'rss']) {
      const ofPlatform = live.filter(({ step }) => step.source_platform === platform)
      const lease = () => server.collector(collector, 'POST', '/collector/v1/tasks/lease', { platforms: [platform] })
      await lease()
      const asked = await server.call('POST', '/v1/live-queries', {
        headers: { authorization: `Bearer ${this.#key}`, 'idempotency-key': platform },
        body: {
          query: queryWords[0],
          datasets: this.#pair.entitlements[0]!.datasets,
          platforms: [platform],
          resource_kind: 'content',
        },
      })
      const [task] = asked.status === 202 ? (await lease()).body.tasks : []
      const path = task === undefined ? '/collector/v1/documents' : `/collector/v1/tasks/${task.task_id}/documents`
      if (ofPlatform.length > 0) {
        const answer = await server.collector(collector, 'POST', path, {
          documents: ofPlatform.map(({ step }) => step),
        })
        assert.equal(answer.status, 200, answer.text)
        for (const [i, result] of answer.body.results.entries()) this.#learn(ofPlatform[i]!.document, 0, result)
      }
      if (task === undefined) continue
      await server.collector(collector, 'POST', `/collector/v1/tasks/${task.task_id}/complete`, { status: 'succeeded' })
      this.#liveQuery = asked.body.id
    }
  }

  #learn(document: number, version: number, { document_id, version_id, error }: Result): void {
    assert.ok(document_id !== undefined && version_id !== undefined, JSON.stringify(error))
    const { name } = this.#histories[document]!
    this.#documents[document] = document_id
    this.#versions[document] ??= []
    assert.notEqual(this.#versions[document].at(-1), version_id, 'every sending is another version')
    this.#versions[document].push(version_id)
    this.#names.set(document_id, name)
    this.#names.set(version_id, `${name}/${version}`)
  }

  /** Learns the ids of chunks with a key that may read everything. */
  async learnChunks(): Promise<void> {
    const datasets = [...new Set(this.#pair.entitlements.flatMap((entry) => entry.datasets))]
    const key = await this.#world.application([{ datasets }])
    for (let version = 0; ; version++) {
      const documents = this.#versions.flatMap((ids, document) => (version < ids.length ? [document] : []))
      if (documents.length === 0) return
      const query = documents.map((document) => markOf(document, version)).join(' ')
      const asked = { query, limit: 100, include_chunks: true, include_non_current: true }
      const { results } = await this.#world.search(asked, '/v1/search/keyword', key)
      assert.deepEqual(
        new Set(results.map(({ version_id }) => version_id)),
        new Set(documents.map((document) => this.#versions[document]![version])),
      )
      for (const { version_id, matched_chunks } of results) {
        for (const { chunk_id, chunk_index } of matched_chunks!) {
          this.#names.set(chunk_id, `${this.#names.get(version_id)}/${chunk_index}`)
        }
      }
    }
  }

  /** Every request with its answer. */
  async *answers(kinds: readonly (keyof typeof this.kinds)[]): AsyncGenerator<[question: string, answer: string]> {
    for (const kind of kinds) {
      for await (const [question, answer] of this.kinds[kind]()) {
        yield [`${kind} ${this.#canonical(question)}`, this.#canonical(answer)]
      }
    }
  }

  readonly kinds = {
    keyword: () => this.#searches('keyword'),
    vector: () => this.#searches('vector'),
    hybrid: () => this.#searches('hybrid'),
    catalog: () => this.#catalog(),
    documents: () => this.#reads(),
    feed: () => this.#feed(),
    live: () => this.#live(),
    analysis: () => this.#analysis(),
  }

  async *#searches(mode: string): Asked {
    for (const [i, query] of this.#pair.queries.entries()) {
      const asked = { mode, query, limit: 100, include_highlights: true, include_chunks: true, explain: i % 2 === 0 }
      yield this.#ask('POST', '/v1/search', asked)
      if (mode === 'keyword') {
        const typed = i % 3 === 0 ? query : query.replaceAll(/(\w)(\w)(?=\w{3})/g, '$2$1')
        const typo = i % 2 === 0 ? 'auto' : 'always'
        yield this.#ask('POST', '/v1/search', { ...asked, query: typed.slice(0, -1), typo, prefix: i % 4 < 2 })
      }
      if (i % 2 === 0) yield this.#ask('POST', '/v1/search', { ...asked, include_non_current: true })
      else yield this.#ask('POST', '/v1/search', { ...asked, include_non_current: true, limit: 3, languages: ['de'] })
    }
    const [query] = this.#pair.queries as [string]
    // Requests that the reader may not make are refused in both worlds alike.
    const facets = ['dataset', 'platform', 'language', 'content_type', 'region', 'status', { published_at: 'month' }]
    for (const more of [[], ['author'], ['topics', 'tags'], ['classifications']]) {
      const asked = { mode, query, limit: 3, facets: [...facets, ...more], facet_limit: 100 }
      yield this.#ask('POST', '/v1/search', asked)
      yield this.#ask('POST', '/v1/search', { ...asked, include_non_current: true })
    }
    if (mode === 'keyword') yield* this.#narrowed(query)
    if (mode === 'keyword') yield* this.#pages('POST', '/v1/search', { mode, query, limit: 9 }, 'cursor')
    else yield this.#ask('POST', '/v1/search', { mode, query, query_vector: vectorOf(query) })
  }

  /** Filters by the catalog's columns, some of which some readers may not use. */
  async *#narrowed(query: string): Asked {
    const asked = { mode: 'keyword', query, include_non_current: true }
    for (const more of [
      { topics: queryWords.slice(0, 3) },
      { tags: queryWords.slice(2, 5) },
      { classification_codes: ['sea'] },
      { score_min: 2, score_max: 1000 },
      { external_author_id: 'u1', platforms: ['rss'] },
    ]) {
      yield this.#ask('POST', '/v1/search', { ...asked, ...more, limit: 100 })
      yield this.#ask('POST', '/v1/search', { ...asked, ...more, limit: 100, include_non_current: false })
    }
    for (const sort of ['published_at', '-published_at', '-score']) {
      yield* this.#pages('POST', '/v1/search', { ...asked, sort, limit: 9 }, 'cursor')
    }
    for (const field of ['dataset', 'platform', 'language', 'content_type', 'topics', 'tags', 'classifications']) {
      yield* this.#pages('GET', `/v1/values/${field}?limit=2`, undefined, 'next_cursor')
      yield this.#ask('GET', `/v1/values/${field}?prefix=h`)
    }
  }

  async *#catalog(): Asked {
    const filters = ['', 'limit=3', 'include_snapshot=true', 'status=active', 'content_types=article,post']
    filters.push('score_min=3', 'score_max=1000', 'classification_codes=sea', 'topics=harbour,tide', 'tags=gull')
    filters.push('external_author_id=u1&source_platforms=rss', 'published_from=2000-01-01T00:00:00Z')
    for (const filter of filters) yield* this.#pages('GET', `/v1/documents/browse?${filter}`, undefined, 'next_cursor')
    for (const [document, { name, steps }] of this.#histories.slice(0, readOne).entries()) {
      const platform = String(steps[0]!.source_platform)
      for (const query of [`https://example.com/${name}`, this.#documents[document]!]) {
        yield this.#ask('GET', `/v1/documents/browse?${new URLSearchParams({ query })}`)
      }
      yield this.#ask('GET', `/v1/documents/browse?${new URLSearchParams({ query: name, source_platforms: platform })}`)
    }
    for (const platform of ['rss', 'board']) {
      for (const author of ['u1', 'u2', 'u3']) {
        yield this.#ask('GET', `/v1/users/${platform}/${author}`)
        yield* this.#pages('GET', `/v1/users/${platform}/${author}/documents?limit=2`, undefined, 'next_cursor')
      }
    }
  }

  async *#reads(): Asked {
    for (const [document, id] of this.#documents.slice(0, readOne).entries()) {
      yield this.#ask('GET', `/v1/documents/${id}`)
      yield this.#ask('GET', `/v1/documents/${id}/content`)
      for (const version of this.#versions[document]!) {
        yield this.#ask('GET', `/v1/documents/${id}/content?version_id=${version}`)
      }
      yield* this.#pages('GET', `/v1/documents/${id}/versions?limit=1`, undefined, 'next_cursor')
      yield this.#ask('GET', `/v1/documents/${id}/versions`)
      yield* this.#pages('GET', `/v1/documents/${id}/snapshots?limit=1`, undefined, 'next_cursor')
    }
    yield this.#ask('POST', '/v1/documents/batch-get', { document_ids: this.#documents })
  }

  async *#feed(): Asked {
    yield this.#ask('GET', '/v1/changes?limit=200')
    yield this.#ask('GET', '/v1/changes?limit=200&event_type=document.version.created')
    yield this.#ask('GET', `/v1/changes?limit=200&event_type=${everyType}`)
  }

  async *#live(): Asked {
    if (this.#liveQuery === null) return
    yield this.#ask('GET', `/v1/live-queries/${this.#liveQuery}`)
    yield* this.#pages('GET', `/v1/live-queries/${this.#liveQuery}/results?limit=1`, undefined, 'cursor')
  }

  async *#analysis(): Asked {
    const graph = { analysis_type: 'knn_graph', embedding_profile_id: fakeProfile, parameters: { k: 100 } }
    // Equally near documents are ranked by ids, which sort differently in the two worlds.
    yield* this.#run(graph, ({ rank: _, ...edge }) => edge)
    const parameters = { by: ['platform', 'language', 'region'], bucket: 'month' }
    yield* this.#run({ analysis_type: 'feature_rollup', parameters }, (row) => row)
  }

  async *#run(request: object, seen: (row: Record<string, unknown>) => object): Asked {
    const input_scope = { dataset_ids: this.#pair.entitlements[0]!.datasets }
    const created = await this.#ask('POST', '/v1/analysis/runs', { ...request, input_scope })
    yield created
    const { run_id } = JSON.parse(created[1]).body
    if (run_id === undefined) return
    const { server } = this.#world
    const path = `/v1/analysis/runs/${run_id}`
    await until('the run ends', async () =>
      ['succeeded', 'failed'].includes((await server.consumer(this.#key, 'GET', path)).body.status),
    )
    yield this.#ask('GET', path)
    const [artifact] = (await server.consumer(this.#key, 'GET', `${path}/artifacts`)).body.artifacts
    const file = await asyncBufferFromUrl({
      url: new URL(`${path}/artifacts/${artifact.artifact_id}/file`, server.address).href,
      byteLength: artifact.bytes,
      requestInit: { headers: { authorization: `Bearer ${this.#key}` } },
    })
    const rows = (await parquetReadObjects({ file, compressors })) as Record<string, unknown>[]
    // Ordered by ids, if rows have any.
    yield [`${path}/artifacts`, JSON.stringify(rows.map((row) => this.#canonical(JSON.stringify(seen(row)))).sort())]
  }

  async #ask(method: string, path: string, body?: object): Promise<[string, string]> {
    const answer = await this.#world.server.consumer(this.#key, method, path, body)
    const question = `${method} ${path} ${JSON.stringify(body ?? null)}`
    return [question, JSON.stringify({ status: answer.status, body: answer.body })]
  }

  /** All pages to the end. */
  async *#pages(method: 'GET' | 'POST', path: string, body: Sent | undefined, name: string): Asked {
    let cursor: string | undefined
    do {
      const next = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const more = body === undefined || cursor === undefined ? body : { ...body, cursor }
      const [question, answer] = await this.#ask(method, body === undefined ? path + next : path, more)
      yield [question, answer]
      cursor = JSON.parse(answer).body[name]
    } while (cursor !== undefined)
  }

  /**
   * Sequences count the events of all datasets, so a reader sees their order, but not meaningful distances. The recency
   * of an old document is so small that no score shows it.
   */
  #canonical(text: string): string {
    const sequences = [...text.matchAll(/"sequence":(\d+)/g)].map((match) => Number(match[1]))
    assert.deepEqual(
      sequences,
      sequences.toSorted((a, b) => a - b),
    )
    return text
      .replaceAll(/"sequence":\d+/g, '"sequence":0')
      .replaceAll(/"recency":[\d.]+e-\d{2,}/g, '"recency":0')
      .replaceAll(/\b(doc|ver|chk)_[0-9a-z]{26}\b/g, (id) => this.#names.get(id) ?? `unknown ${id.slice(0, 3)}`)
      .replaceAll(/\b(evt|snp|run|art|lq|lqr|task|app|key)_[0-9a-z]{26}\b/g, '$1')
      .replaceAll(/"(next_cursor|cursor|request_id)":"[^"]*"/g, '"$1":"…"')
      .replaceAll(/cursor=[^ &"]*/g, 'cursor=…')
      .replaceAll(/20(?:[23]\d)-\d\d-\d\dT[\d:.]+Z/g, (time) =>
        time.startsWith('2026-01-01T00:00:00') ? time : 'today',
      )
  }
}

const everyType = 'document.created,document.version.created,document.metrics.updated,document.updated,document.erased'

/** The number of documents that are read one by one. */
const readOne = 8

type Asked = AsyncGenerator<[question: string, answer: string] | Promise<[question: string, answer: string]>>
