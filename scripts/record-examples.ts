/**
 * Records the examples of the API description: starts a server with some of the sample data, uses every operation once
 * as its users would, and writes what was sent and answered to src/http/openapi-examples.json.
 *
 *   npx node scripts/record-examples.ts      after an operation was added, or its answer has changed
 *
 * Long texts and lists are cut, and secrets are not written down.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Answer, adminToken, startServer } from '../test/acceptance/harness.ts'
import { until } from '../test/support/until.ts'

const file = new URL('../src/http/openapi-examples.json', import.meta.url)
const linesOf = (name: string): string[] =>
  readFileSync(new URL(`../sample/${name}`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
const documentsTaken = 40
const itemsMax = 2
const charactersMax = 280

interface Asked {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

interface Example {
  readonly parameters?: object
  readonly body?: unknown
  readonly status: number
  readonly answer?: unknown
}

const server = await startServer()
const { body: description } = await server.call('GET', '/openapi.json')
const routes = new Map<string, { readonly method: string; readonly path: string }>()
for (const [path, methods] of Object.entries<Record<string, { operationId: string }>>(description.paths)) {
  for (const [method, { operationId }] of Object.entries(methods)) routes.set(operationId, { method, path })
}
const examples: Record<string, Example> = {}

/** Uses an operation, and keeps what was sent and answered. */
async function record(operationId: string, credential: string | null, asked: Asked = {}): Promise<Answer['body']> {
  const { method, path } = routes.get(operationId)!
  const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(asked.path![name]!))
  const query = new URLSearchParams(Object.entries(asked.query ?? {}).map(([name, value]) => [name, String(value)]))
  const answer = await server.call(method.toUpperCase(), query.size === 0 ? filled : `${filled}?${query}`, {
    headers: { ...(credential === null ? {} : { authorization: `Bearer ${credential}` }), ...asked.headers },
    ...(asked.body === undefined ? {} : { body: asked.body }),
  })
  if (answer.status >= 300) throw new Error(`${operationId} answered ${answer.status}: ${answer.text}`)
  const parameters = { ...asked.path, ...asked.query, ...asked.headers }
  const isLines = answer.headers.get('content-type')?.startsWith('application/x-ndjson') ?? false
  const isFile = !/json|text/.test(answer.headers.get('content-type') ?? '')
  examples[operationId] = {
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    // As it was sent: it is shown as something to send.
    ...(asked.body === undefined ? {} : { body: asked.body }),
    status: answer.status,
    ...(isFile || operationId === 'openapi.read' ? {} : { answer: isLines ? answer.text : shortened(answer.body) }),
  }
  return answer.body
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') {
    const secret = /^(tm[cla]_)/.exec(value)
    if (secret !== null) return `${secret[1]}…`
    return value.length > charactersMax ? `${value.slice(0, charactersMax)}…` : value
  }
  if (Array.isArray(value)) return value.slice(0, itemsMax).map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]))
}

const admin = adminToken
await record('health.live', null)
await record('health.ready', null)
await record('openapi.read', null)

await record('admin.datasets.put', admin, {
  path: { dataset_id: 'news' },
  body: { name: 'Coastal news', description: 'Articles, bulletins and weekly letters from small papers.' },
})
for (const dataset of ['community', 'video']) await server.makeDataset(dataset)
await record('admin.datasets.list', admin)
await record('admin.datasets.read', admin, { path: { dataset_id: 'news' } })
await record('admin.classifications.put', admin, {
  path: { dataset_id: 'news', code: 'energy' },
  body: { name: 'Energy', description: 'Tide, wave and wind power, batteries, grid and shore power.' },
})
await record('admin.classifications.list', admin, { path: { dataset_id: 'news' } })
await record('admin.classifications.read', admin, { path: { dataset_id: 'news', code: 'energy' } })
const { application_id } = await record('admin.applications.create', admin, {
  body: {
    name: 'Harbour desk',
    policy: { analysis_enabled: true, analysis: { scheduling: true }, live: { enabled: true } },
    entitlements: [{ datasets: ['news', 'community', 'video'] }],
  },
})
const application = { application_id }
await record('admin.applications.list', admin)
await record('admin.applications.read', admin, { path: application })
await record('admin.applications.update', admin, { path: application, body: { policy: { requests_per_second: 50 } } })
await record('admin.entitlements.put', admin, {
  path: application,
  body: { entitlements: [{ datasets: ['news', 'community', 'video'] }] },
})
const { api_key: key } = await record('admin.keys.create', admin, { path: application, body: { name: 'laptop' } })
const { key_id } = await server.makeKey(application_id, { name: 'old' }).then(({ keyId }) => ({ key_id: keyId }))
await record('admin.keys.rotate', admin, { path: { key_id }, body: { grace_seconds: 3600 } })
await record('admin.keys.revoke', admin, { path: { key_id } })
await record('admin.keys.list', admin, { path: application })
await record('admin.keys.listAll', admin)
await record('admin.keys.read', admin, { path: { key_id } })
const { collector_id, collector_key: collector } = await record('admin.collectors.create', admin, {
  body: { name: 'Harbour collector', datasets: ['news', 'community', 'video'] },
})
await record('admin.collectors.list', admin)
await record('admin.collectors.read', admin, { path: { collector_id } })
const { token_id } = await record('admin.tokens.create', admin, { body: { name: 'Ada', role: 'operator' } })
await record('admin.tokens.list', admin)
await record('admin.self.read', admin)
await record('admin.tokens.read', admin, { path: { token_id } })
await record('admin.tokens.revoke', admin, { path: { token_id } })

const taken = linesOf('documents.ndjson').slice(0, documentsTaken)
// As a document of the sample, but another one, and whole: who sends the example changes nothing that is there.
const { title: _, body: __, facts: ___, ...like } = JSON.parse(taken[0]!)
const own = { external_id: 'example-1', url: 'https://news.example/example-1', title: 'High water at noon' }
await record('collector.documents', collector, {
  body: { documents: [{ ...like, ...own, body: 'The spring tide reaches the harbour wall at noon.' }] },
})
const sent = await server.call('POST', '/collector/v1/documents', {
  headers: { authorization: `Bearer ${collector}`, 'content-type': 'application/x-ndjson' },
  body: [...taken, ...linesOf('updates.ndjson')].join('\n'),
})
if (sent.status !== 200) throw new Error(sent.text)
await until('everything is indexed', async () => {
  const { body } = await server.admin('GET', '/admin/v1/indexing')
  return body.pending_chunks === 0 && body.indexed_documents > documentsTaken
})
await record('admin.indexing.read', admin)
await record('admin.entitlements.count', admin, { body: { entitlements: [{ datasets: ['news'], languages: ['en'] }] } })
await record('admin.findings.list', admin)

const account = await record('account.read', key)
const [profile] = account.embedding_profiles
await record('admin.profiles.list', admin)
await record('admin.profiles.read', admin, { path: { id: profile.id } })
await record('admin.profiles.put', admin, {
  path: { id: 'my-model' },
  body: { provider: 'http', model: 'my-model', dimensions: 768, status: 'inactive' },
})

const search = { query: 'tidal power', datasets: ['news'], limit: 2 }
const found = await record('search.default', key, { body: { ...search, mode: 'hybrid', include_highlights: true } })
await record('search.contents', key, { body: search })
await record('search.history', key, { body: { ...search, languages: ['en'] } })
await record('search.keyword', key, {
  body: {
    ...search,
    query: '"tide table" +harbour',
    include_highlights: true,
    sort: '-published_at',
    facets: ['platform', 'topics', { published_at: 'month' }],
  },
})
await record('search.vector', key, { body: { ...search, query: 'where can I swim safely?' } })
await record('search.hybrid', key, { body: { ...search, include_chunks: true } })
const call = { name: 'search', arguments: { query: 'where can I swim safely?' } }
await record('mcp.call', key, { body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call } })

const { document_id } = found.results[0]
const document = { document_id }
await record('documents.browse', key, { query: { dataset_id: 'news', limit: 2 } })
await record('documents.read', key, { path: document })
await record('documents.content', key, { path: document })
await record('documents.versions', key, { path: document })
await record('documents.snapshots', key, { path: document })
await record('documents.batchGet', key, { body: { document_ids: [document_id] } })
const authored = JSON.parse(
  linesOf('documents.ndjson')
    .slice(0, documentsTaken)
    .find((line) => line.includes('"external_author_id"'))!,
)
const author = { platform: authored.source_platform, external_author_id: authored.author.external_author_id }
await record('users.read', key, { path: author })
await record('users.documents', key, { path: author, query: { limit: 2 } })
await record('classifications.list', key, { query: { dataset_id: 'news' } })
await record('values.list', key, { path: { field: 'topics' }, query: { dataset_id: 'news', limit: 2 } })
await record('changes.read', key, { query: { event_type: 'document.created', limit: 2 } })
await record('export.read', key, { query: { dataset_id: 'news', limit: 1 } })

const lease = { body: { platforms: ['rss'], lease_seconds: 60 } }
await record('collector.tasks.lease', collector, lease)
const live = await record('live.create', key, {
  headers: { 'Idempotency-Key': 'ferry-2026-11-16' },
  body: { query: 'ferry strike', datasets: ['news'], platforms: ['rss'], resource_kind: 'content' },
})
const {
  tasks: [{ task_id }],
} = await record('collector.tasks.lease', collector, lease)
const task = { task_id }
await record('collector.tasks.heartbeat', collector, { path: task, body: { lease_seconds: 60 } })
await record('collector.tasks.documents', collector, {
  path: task,
  body: { documents: [{ external_id: 'a-1', title: 'Ferry crews return', body: 'Boats run again from Monday.' }] },
})
await record('admin.tasks.list', admin, { query: { unfinished: true } })
await record('collector.tasks.complete', collector, { path: task, body: { status: 'succeeded' } })
const query = { live_query_id: live.id }
await record('live.read', key, { path: query })
await record('live.results', key, { path: query, query: { limit: 2 } })

const scope = { embedding_profile_id: profile.id, input_scope: { dataset_ids: ['news'] } }
const request = { analysis_type: 'knn_graph', ...scope, parameters: { k: 10 } }
const { run_id } = await record('analysis.runs.create', key, { body: request })
const run = { run_id }
await until('the run has succeeded', async () => {
  const { body } = await server.consumer(key, 'GET', `/v1/analysis/runs/${run_id}`)
  return body.status === 'succeeded'
})
await record('analysis.runs.read', key, { path: run })
await record('analysis.runs.list', key, { query: { limit: 2 } })
await record('admin.runs.list', admin, { query: { limit: 2 } })
const { artifacts } = await record('analysis.artifacts.list', key, { path: run })
await record('analysis.artifacts.download', key, { path: { ...run, artifact_id: artifacts[0].artifact_id } })
const { body: second } = await server.consumer(key, 'POST', '/v1/analysis/runs', request)
await record('analysis.runs.cancel', key, { path: { run_id: second.run_id } })
const { subscription_id } = await record('analysis.subscriptions.create', key, {
  body: { name: 'Neighbours of the news', analysis_type: 'knn_graph', ...scope, execution_mode: 'on_change' },
})
const subscription = { subscription_id }
await record('analysis.subscriptions.list', key)
await record('analysis.subscriptions.read', key, { path: subscription })
await until('the first run of the subscription has ended', async () => {
  const { body } = await server.consumer(key, 'GET', `/v1/analysis/subscriptions/${subscription_id}/runs`)
  return body.runs.length > 0
})
await record('analysis.subscriptions.pause', key, { path: subscription })
await record('analysis.subscriptions.resume', key, { path: subscription })
await record('analysis.subscriptions.runs', key, { path: subscription })
await record('analysis.subscriptions.checkpoint', key, { path: subscription })
const { body: browsed } = await server.consumer(key, 'GET', '/v1/documents/browse?dataset_id=news&limit=2')
const [spoken, other] = browsed.documents.map(({ document }: { document: { id: string } }) => document.id)
const { erasure_id } = await record('admin.documents.erase', admin, { path: { document_id: spoken } })
await record('admin.erasures.create', admin, { body: { document_ids: [other], purge_artifacts: true } })
await record('admin.erasures.list', admin, { query: { limit: 2 } })
await record('admin.erasures.read', admin, { path: { erasure_id } })
const { dataset_id, source_platform, external_id } = browsed.documents[0].document
await record('admin.datasets.delete', admin, { path: { dataset_id: 'video' }, query: { force: true } })
await until('the erasure is completed', async () => {
  const { status } = await server.mustAdmin('GET', `/admin/v1/erasures/${erasure_id}`)
  return status === 'completed'
})
await record('admin.erasures.lift', admin, { path: { erasure_id }, query: { dry_run: true } })
await record('admin.tombstones.lift', admin, { body: { dataset_id, source_platform, external_id } })
await record('admin.usage.read', admin, { query: { application_id } })
await record('admin.audit.list', admin, { query: { limit: 2 } })
await record('metrics.read', admin)
await record('admin.applications.delete', admin, { path: application, query: { force: true } })
await record('admin.collectors.delete', admin, { path: { collector_id } })
await server.stop()

const missing = [...routes.keys()].filter((operation) => !(operation in examples))
if (missing.length > 0) throw new Error(`nothing was recorded of ${missing.join(', ')}`)
writeFileSync(file, JSON.stringify(examples, null, 2))
execFileSync('npx', ['biome', 'format', '--write', fileURLToPath(file)])
console.log(`${Object.keys(examples).length} operations`)
