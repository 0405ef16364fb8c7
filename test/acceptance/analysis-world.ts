import assert from 'node:assert/strict'
import { asyncBufferFromUrl, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { until } from '../support/until.ts'
import type { Sent } from './content.ts'
import { fakeProfile } from './fake-embedding.ts'
import type { Answer } from './harness.ts'
import { type SearchWorld, startWorld } from './search-world.ts'

/** The world of the analysis tests: documents with known vectors, and an application that may analyse them. */
export interface RunBody {
  readonly run_id: string
  readonly subscription_id: string | null
  readonly feed_sequence: number | null
  readonly analysis_type: string
  readonly embedding_profile_id: string | null
  readonly input_scope: Record<string, unknown>
  readonly parameters: Readonly<Record<string, unknown>> | null
  readonly input_cutoff_at: string
  readonly retention_days: number
  readonly status: string
  readonly progress: number
  readonly created_at: string
  readonly started_at: string | null
  readonly completed_at: string | null
  readonly expires_at: string
  readonly input: { readonly chunks: number; readonly documents: number; readonly without_vector: number } | null
  readonly warnings: readonly { readonly code: string }[]
  readonly error?: { readonly code: string; readonly message: string }
}

export interface ArtifactBody {
  readonly artifact_id: string
  readonly name: string
  readonly format: string
  readonly rows: number
  readonly bytes: number
  readonly checksum: string
  readonly expires_at: string
}

export interface Edge {
  readonly source_subject_id: string
  readonly target_subject_id: string
  readonly source_document_id: string
  readonly target_document_id: string
  readonly source_version_id: string
  readonly target_version_id: string
  readonly rank: number
  readonly similarity: number
}

const terminal = ['succeeded', 'failed', 'cancelled', 'expired']

export class AnalysisWorld {
  readonly search: SearchWorld
  readonly key: string
  readonly applicationId: string

  constructor(search: SearchWorld, key: string, applicationId: string) {
    this.search = search
    this.key = key
    this.applicationId = applicationId
  }

  get server() {
    return this.search.server
  }

  /** A request for a graph of everything in `news`, with the changes that the test needs. */
  request(changes: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      analysis_type: 'knn_graph',
      embedding_profile_id: fakeProfile,
      input_scope: { dataset_ids: ['news'] },
      ...changes,
    }
  }

  post(body: unknown, key: string = this.key): Promise<Answer> {
    return this.server.consumer(key, 'POST', '/v1/analysis/runs', body)
  }

  async create(changes: Record<string, unknown> = {}, key: string = this.key): Promise<RunBody> {
    const answer = await this.post(this.request(changes), key)
    assert.equal(answer.status, 202, answer.text)
    return answer.body
  }

  async read(runId: string, key: string = this.key): Promise<RunBody> {
    const answer = await this.server.consumer(key, 'GET', `/v1/analysis/runs/${runId}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  /** Waits until the run has ended, and returns it. */
  async ended(runId: string, key: string = this.key): Promise<RunBody> {
    await until(`run ${runId} ends`, async () => terminal.includes((await this.read(runId, key)).status))
    return this.read(runId, key)
  }

  /** Creates a run of another type and waits for its success. */
  async succeeded(changes: Record<string, unknown>, key: string = this.key): Promise<RunBody> {
    const run = await this.ended((await this.create(changes, key)).run_id, key)
    assert.deepEqual([run.status, run.progress], ['succeeded', 1], JSON.stringify(run))
    assert.ok(Object.values(run.input!).every(Number.isInteger), JSON.stringify(run))
    assert.deepEqual(Object.keys(run.input!), ['chunks', 'documents', 'without_vector'])
    return run
  }

  /** Creates a graph and waits for its success. */
  async graph(changes: Record<string, unknown> = {}, key: string = this.key): Promise<Edge[]> {
    return this.edges((await this.succeeded(changes, key)).run_id, key)
  }

  async artifacts(runId: string, key: string = this.key): Promise<ArtifactBody[]> {
    const answer = await this.server.consumer(key, 'GET', `/v1/analysis/runs/${runId}/artifacts`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body.artifacts
  }

  fileUrl(runId: string, artifactId: string): URL {
    return new URL(`/v1/analysis/runs/${runId}/artifacts/${artifactId}/file`, this.server.address)
  }

  download(runId: string, artifactId: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
    return fetch(this.fileUrl(runId, artifactId), {
      method,
      headers: { authorization: `Bearer ${this.key}`, ...headers },
    })
  }

  edges(runId: string, key: string = this.key): Promise<Edge[]> {
    return this.table<Edge>(runId, 'edges', key)
  }

  /** Reads the file as data tools do: by ranges over HTTP. */
  async table<Row>(runId: string, name: string, key: string = this.key): Promise<Row[]> {
    const artifact = (await this.artifacts(runId, key)).find((one) => one.name === name)
    const file = await asyncBufferFromUrl({
      url: this.fileUrl(runId, artifact!.artifact_id).href,
      byteLength: artifact!.bytes,
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    })
    return (await parquetReadObjects({ file, compressors })) as unknown as Row[]
  }

  async application(entitlements: readonly object[], policy: object = {}) {
    return this.server.makeApplication({ entitlements, policy: { analysis_enabled: true, ...policy } })
  }

  async setEntitlements(applicationId: string, entitlements: readonly object[]): Promise<void> {
    await this.server.mustAdmin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, { entitlements })
  }

  async setPolicy(applicationId: string, policy: object): Promise<void> {
    await this.server.mustAdmin('PATCH', `/admin/v1/applications/${applicationId}`, { policy })
  }

  async put(...documents: readonly Sent[]): Promise<void> {
    await this.search.putIndexed(...documents)
  }
}

export async function startAnalysisWorld(
  policy: object = {},
  env: Readonly<Record<string, string>> = {},
): Promise<AnalysisWorld> {
  const search = await startWorld({ env })
  const { key, applicationId } = await search.server.makeApplication({
    entitlements: [{ datasets: ['news', 'forum'] }],
    policy: { analysis_enabled: true, ...policy },
  })
  return new AnalysisWorld(search, key, applicationId)
}
