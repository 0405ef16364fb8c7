import { readFileSync } from 'node:fs'
import { type Answer, adminToken as admin, type TestServer } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'

const linesOf = (name: string): string[] =>
  readFileSync(new URL(`../../sample/${name}`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
const documentCount = 40

export interface RequestParts {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

interface Operation {
  readonly operationId: string
  readonly method: string
  readonly path: string
}

/** Returns the operations of an API description by ID. */
export function operationsOf(description: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
}): ReadonlyMap<string, Operation> {
  return new Map(
    Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]): [string, Operation] => [
        operationId,
        { operationId, method: method.toUpperCase(), path },
      ]),
    ),
  )
}

/** Sends one request. Throws for any status other than 2xx. */
export async function sendRequest(
  server: TestServer,
  { operationId, method, path }: Operation,
  credential: string | null,
  parts: RequestParts,
): Promise<Answer> {
  const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(parts.path![name]!))
  const query = new URLSearchParams(Object.entries(parts.query ?? {}).map(([name, value]) => [name, String(value)]))
  const answer = await server.call(method, query.size === 0 ? filled : `${filled}?${query}`, {
    headers: { ...(credential === null ? {} : { authorization: `Bearer ${credential}` }), ...parts.headers },
    ...(parts.body === undefined ? {} : { body: parts.body }),
  })
  if (answer.status >= 300) throw new Error(`${operationId} answered ${answer.status}: ${answer.text}`)
  return answer
}

/** Uses an operation and returns the body of the response. */
type Use = (operationId: string, credential: string | null, parts?: RequestParts) => Promise<Answer['body']>

/**
 * Uses every operation at least once, as a user would, on a new server with some of the sample data. operations.test.ts
 * checks the responses, and scripts/record-examples.ts records the examples of the API description.
 */
export async function useEveryOperation(server: TestServer, use: Use): Promise<void> {
  await use('health.live', null)
  await use('health.ready', null)
  await use('openapi.read', null)

  await use('admin.datasets.put', admin, {
    path: { dataset_id: 'news' },
    body: { name: 'Coastal news', description: 'Articles, bulletins and weekly letters from small papers.' },
  })
  for (const dataset of ['community', 'video']) await server.makeDataset(dataset)
  await use('admin.datasets.list', admin)
  await use('admin.datasets.read', admin, { path: { dataset_id: 'news' } })
  await use('admin.classifications.put', admin, {
    path: { dataset_id: 'news', code: 'energy' },
    body: { name: 'Energy', description: 'Tide, wave and wind power, batteries, grid and shore power.' },
  })
  await use('admin.classifications.list', admin, { path: { dataset_id: 'news' } })
  await use('admin.classifications.read', admin, { path: { dataset_id: 'news', code: 'energy' } })
  const { application_id } = await use('admin.applications.create', admin, {
    body: {
      name: 'Harbour desk',
      policy: { analysis_enabled: true, analysis: { scheduling: true }, live: { enabled: true } },
      entitlements: [{ datasets: ['news', 'community', 'video'] }],
    },
  })
  const application = { application_id }
  await use('admin.applications.list', admin)
  await use('admin.applications.read', admin, { path: application })
  await use('admin.applications.update', admin, { path: application, body: { policy: { requests_per_second: 50 } } })
  await use('admin.entitlements.put', admin, {
    path: application,
    body: { entitlements: [{ datasets: ['news', 'community', 'video'] }] },
  })
  const { api_key: key } = await use('admin.keys.create', admin, { path: application, body: { name: 'laptop' } })
  const { key_id } = await server.makeKey(application_id, { name: 'old' }).then(({ keyId }) => ({ key_id: keyId }))
  await use('admin.keys.rotate', admin, { path: { key_id }, body: { grace_seconds: 3600 } })
  await use('admin.keys.revoke', admin, { path: { key_id } })
  await use('admin.keys.list', admin, { path: application })
  await use('admin.keys.listAll', admin)
  await use('admin.keys.read', admin, { path: { key_id } })
  const { collector_id, collector_key: collector } = await use('admin.collectors.create', admin, {
    body: { name: 'Harbour collector', datasets: ['news', 'community', 'video'] },
  })
  await use('admin.collectors.list', admin)
  await use('admin.collectors.read', admin, { path: { collector_id } })
  const { token_id } = await use('admin.tokens.create', admin, { body: { name: 'Ada', role: 'operator' } })
  await use('admin.tokens.list', admin)
  await use('admin.self.read', admin)
  await use('admin.tokens.read', admin, { path: { token_id } })
  await use('admin.tokens.revoke', admin, { path: { token_id } })

  const lines = linesOf('documents.ndjson').slice(0, documentCount)
  // Like a document of the sample, but new, so that sending the example does not change an existing document.
  const { title: _, body: __, facts: ___, ...sampleFields } = JSON.parse(lines[0]!)
  const url = 'https://news.example/example-1'
  const own = { external_id: 'example-1', url, thumbnail_url: `${url}.png`, title: 'High water at noon' }
  await use('collector.documents', collector, {
    body: { documents: [{ ...sampleFields, ...own, body: 'The spring tide reaches the harbour wall at noon.' }] },
  })
  const sent = await server.call('POST', '/collector/v1/documents', {
    headers: { authorization: `Bearer ${collector}`, 'content-type': 'application/x-ndjson' },
    body: [...lines, ...linesOf('updates.ndjson')].join('\n'),
  })
  if (sent.status !== 200) throw new Error(sent.text)
  await until('everything is indexed', async () => {
    const { body } = await server.admin('GET', '/admin/v1/indexing')
    return body.pending_chunks === 0 && body.indexed_documents > documentCount
  })
  await use('admin.indexing.read', admin)
  await use('admin.entitlements.count', admin, { body: { entitlements: [{ datasets: ['news'], languages: ['en'] }] } })
  await use('admin.findings.list', admin)

  const account = await use('account.read', key)
  const [profile] = account.embedding_profiles
  await use('admin.profiles.list', admin)
  await use('admin.profiles.read', admin, { path: { id: profile.id } })
  await use('admin.profiles.put', admin, {
    path: { id: 'my-model' },
    body: { provider: 'http', model: 'my-model', dimensions: 768, status: 'inactive' },
  })

  const search = { query: 'tidal power', datasets: ['news'], limit: 2 }
  const found = await use('search.default', key, { body: { ...search, mode: 'hybrid', include_highlights: true } })
  await use('search.contents', key, { body: search })
  await use('search.history', key, { body: { ...search, languages: ['en'] } })
  await use('search.keyword', key, {
    body: {
      ...search,
      query: '"tide table" +harbour',
      include_highlights: true,
      sort: '-published_at',
      facets: ['platform', 'topics', { published_at: 'month' }],
    },
  })
  await use('search.vector', key, { body: { ...search, query: 'where can I swim safely?' } })
  await use('search.hybrid', key, { body: { ...search, include_chunks: true } })
  const call = { name: 'search', arguments: { query: 'where can I swim safely?' } }
  await use('mcp.call', key, { body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call } })

  const { document_id } = found.results[0]
  const document = { document_id }
  await use('documents.browse', key, { query: { dataset_id: 'news', limit: 2 } })
  await use('documents.read', key, { path: document })
  await use('documents.content', key, { path: document })
  await use('documents.versions', key, { path: document })
  await use('documents.snapshots', key, { path: document })
  await use('documents.batchGet', key, { body: { document_ids: [document_id] } })
  const authored = JSON.parse(
    linesOf('documents.ndjson')
      .slice(0, documentCount)
      .find((line) => line.includes('"external_author_id"'))!,
  )
  const author = { platform: authored.source_platform, external_author_id: authored.author.external_author_id }
  await use('users.read', key, { path: author })
  await use('users.documents', key, { path: author, query: { limit: 2 } })
  await use('classifications.list', key, { query: { dataset_id: 'news' } })
  await use('values.list', key, { path: { field: 'topics' }, query: { dataset_id: 'news', limit: 2 } })
  await use('changes.read', key, { query: { event_type: 'document.created', limit: 2 } })
  await use('export.read', key, { query: { dataset_id: 'news', limit: 1 } })

  const lease = { body: { platforms: ['rss'], lease_seconds: 60 } }
  await use('collector.tasks.lease', collector, lease)
  const live = await use('live.create', key, {
    headers: { 'Idempotency-Key': 'ferry-2026-11-16' },
    body: { query: 'ferry strike', datasets: ['news'], platforms: ['rss'], resource_kind: 'content' },
  })
  const {
    tasks: [{ task_id }],
  } = await use('collector.tasks.lease', collector, lease)
  const task = { task_id }
  await use('collector.tasks.heartbeat', collector, { path: task, body: { lease_seconds: 60 } })
  await use('collector.tasks.documents', collector, {
    path: task,
    body: { documents: [{ external_id: 'a-1', title: 'Ferry crews return', body: 'Boats run again from Monday.' }] },
  })
  await use('admin.tasks.list', admin, { query: { unfinished: true } })
  await use('collector.tasks.complete', collector, { path: task, body: { status: 'succeeded' } })
  const query = { live_query_id: live.id }
  await use('live.read', key, { path: query })
  await use('live.results', key, { path: query, query: { limit: 2 } })

  const scope = { embedding_profile_id: profile.id, input_scope: { dataset_ids: ['news'] } }
  const request = { analysis_type: 'knn_graph', ...scope, parameters: { k: 10 } }
  const { run_id } = await use('analysis.runs.create', key, { body: request })
  const run = { run_id }
  await until('the run has succeeded', async () => {
    const { body } = await server.consumer(key, 'GET', `/v1/analysis/runs/${run_id}`)
    return body.status === 'succeeded'
  })
  await use('analysis.runs.read', key, { path: run })
  await use('analysis.runs.list', key, { query: { limit: 2 } })
  await use('admin.runs.list', admin, { query: { limit: 2 } })
  const { artifacts } = await use('analysis.artifacts.list', key, { path: run })
  await use('analysis.artifacts.download', key, { path: { ...run, artifact_id: artifacts[0].artifact_id } })
  const { body: second } = await server.consumer(key, 'POST', '/v1/analysis/runs', request)
  await use('analysis.runs.cancel', key, { path: { run_id: second.run_id } })
  const { subscription_id } = await use('analysis.subscriptions.create', key, {
    body: { name: 'Neighbours of the news', analysis_type: 'knn_graph', ...scope, execution_mode: 'on_change' },
  })
  const subscription = { subscription_id }
  await use('analysis.subscriptions.list', key)
  await use('analysis.subscriptions.read', key, { path: subscription })
  await until('the first run of the subscription has ended', async () => {
    const { body } = await server.consumer(key, 'GET', `/v1/analysis/subscriptions/${subscription_id}/runs`)
    return body.runs.length > 0
  })
  await use('analysis.subscriptions.pause', key, { path: subscription })
  await use('analysis.subscriptions.resume', key, { path: subscription })
  await use('analysis.subscriptions.runs', key, { path: subscription })
  await use('analysis.subscriptions.checkpoint', key, { path: subscription })
  const { body: browsed } = await server.consumer(key, 'GET', '/v1/documents/browse?dataset_id=news&limit=2')
  const [documentId, otherId] = browsed.documents.map(({ document }: { document: { id: string } }) => document.id)
  const { erasure_id } = await use('admin.documents.erase', admin, { path: { document_id: documentId } })
  await use('admin.erasures.create', admin, { body: { document_ids: [otherId], purge_artifacts: true } })
  await use('admin.erasures.list', admin, { query: { limit: 2 } })
  await use('admin.erasures.read', admin, { path: { erasure_id } })
  const { dataset_id, source_platform, external_id } = browsed.documents[0].document
  await use('admin.datasets.delete', admin, { path: { dataset_id: 'video' }, query: { force: true } })
  await until('the erasure is completed', async () => {
    const { status } = await server.mustAdmin('GET', `/admin/v1/erasures/${erasure_id}`)
    return status === 'completed'
  })
  await use('admin.erasures.lift', admin, { path: { erasure_id }, query: { dry_run: true } })
  await use('admin.tombstones.lift', admin, { body: { dataset_id, source_platform, external_id } })
  await use('admin.usage.read', admin, { query: { application_id } })
  await use('admin.audit.list', admin, { query: { limit: 2 } })
  await use('metrics.read', admin)
  await use('admin.applications.delete', admin, { path: application, query: { force: true } })
  await use('admin.collectors.delete', admin, { path: { collector_id }, query: { force: true } })
}
