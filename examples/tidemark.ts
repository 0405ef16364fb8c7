import { zstdDecompressSync } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'

/** The calls that the examples make. They need only a key: `npm start` prints one for the sample data. */
const address = process.env.TIDEMARK_URL ?? 'http://127.0.0.1:8080'
const key = process.env.TIDEMARK_KEY
if (key === undefined) throw new Error('set TIDEMARK_KEY to an Application key: npm start prints one')

async function call(path: string, body?: object): Promise<Response> {
  const response = await fetch(new URL(path, address), {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response
}

const read = async <Answer>(path: string, body?: object): Promise<Answer> => (await call(path, body)).json() as never

interface Run {
  readonly run_id: string
  readonly status: 'queued' | 'validating' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'expired'
  readonly input: { readonly chunks: number; readonly documents: number } | null
  readonly error?: { readonly message: string }
}

/** Analyses what the key may read, or a narrower part of it. Returns the run when it has succeeded. */
export async function analyse(type: string, parameters: object, narrower: object = {}): Promise<Run> {
  const account = await read<{
    entitlements: { datasets: string[] }[]
    embedding_profiles: { id: string; is_default: boolean }[]
  }>('/v1/account')
  let run = await read<Run>('/v1/analysis/runs', {
    analysis_type: type,
    embedding_profile_id: account.embedding_profiles.find(({ is_default }) => is_default)?.id,
    input_scope: { dataset_ids: [...new Set(account.entitlements.flatMap(({ datasets }) => datasets))], ...narrower },
    parameters,
  })
  while (['queued', 'validating', 'running'].includes(run.status)) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    run = await read<Run>(`/v1/analysis/runs/${run.run_id}`)
  }
  if (run.status !== 'succeeded') throw new Error(`the run ${run.status}: ${run.error?.message ?? ''}`)
  return run
}

/** Returns the rows of one of a run's files. */
export async function table<Row>({ run_id }: Run, name: string): Promise<Row[]> {
  const files = `/v1/analysis/runs/${run_id}/artifacts`
  const { artifacts } = await read<{ artifacts: { artifact_id: string; name: string }[] }>(files)
  const { artifact_id } = artifacts.find((one) => one.name === name)!
  const file = await (await call(`${files}/${artifact_id}/file`)).arrayBuffer()
  const compressors = { ZSTD: (bytes: Uint8Array) => zstdDecompressSync(bytes) }
  return (await parquetReadObjects({ file, compressors })) as unknown as Row[]
}

export interface Document {
  readonly id: string
  readonly source_platform: string
  readonly url: string | null
  readonly language: string | null
  readonly published_at: string | null
  readonly author?: { readonly nickname: string | null } | null
  readonly content: { readonly title: string | null; readonly body: string | null }
}

const documentsAtOnce = 100

export async function documentsOf(ids: Iterable<string>): Promise<Map<string, Document>> {
  const unique = [...new Set(ids)]
  const found = new Map<string, Document>()
  for (let start = 0; start < unique.length; start += documentsAtOnce) {
    const some = { document_ids: unique.slice(start, start + documentsAtOnce) }
    const { documents } = await read<{ documents: Document[] }>('/v1/documents/batch-get', some)
    for (const document of documents) found.set(document.id, document)
  }
  return found
}
