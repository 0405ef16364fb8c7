import { zstdDecompressSync } from 'node:zlib'
import { Type } from 'typebox'
import { analysisTypes } from '../../access/analysis-types.ts'
import { claimKeyPattern } from '../../access/claim.ts'
import { choice } from '../../platform/validation.ts'
import { type Api, Refusal, segmentOf } from '../api.ts'
import { clipped, fitting, tokensIn } from '../token-budget.ts'
import { codes, cursor, listLength, time, tool } from '../tool.ts'

interface Run {
  readonly run_id: string
  readonly analysis_type: string
  readonly status: string
  readonly progress: number
  readonly created_at: string
  readonly completed_at: string | null
  readonly input: object | null
  readonly warnings: readonly object[]
  readonly error?: object
}

interface Artifact {
  readonly artifact_id: string
  readonly name: string
  readonly rows: number
  readonly bytes: number
}

const runsDefault = 10
const rowsDefault = 20

/** The largest file that is read. It is held in memory as a whole. */
const readBytesMax = 16 * 2 ** 20

const briefly = ({ run_id, analysis_type, status, progress, created_at, completed_at }: Run) => ({
  run_id,
  analysis_type,
  status,
  progress,
  created_at,
  completed_at,
})

export const startAnalysis = tool(
  {
    name: 'start_analysis',
    title: 'Start an analysis',
    description:
      'Starts a computation over many documents and returns at once with a `run_id`. Read it with `read_analysis`, after a few seconds and then less and less often. ' +
      '`clustering` finds the themes (parameters: min_cluster_size), `deduplication` finds copies (threshold), `knn_graph` finds the nearest neighbours of every passage (k, min_similarity), ' +
      '`feature_rollup` counts and sums by fields (by: 1 to 4 of dataset, platform, language, region, content_type, author, topic, tag, classification; bucket: day, week or month). ' +
      'It takes time and storage: start one only if `search` and `counts` cannot answer, and never the same one twice. `account` says which types are allowed.',
    creates: true,
    quotes: false,
    fields: {
      analysis_type: choice(analysisTypes),
      dataset_ids: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
        minItems: 1,
        maxItems: 50,
        description: 'The datasets to analyse.',
      }),
      source_platforms: codes('Only these platforms.'),
      languages: codes('Only these languages, ISO 639-1 codes.'),
      published_from: time('Published at this time or later.'),
      published_to: time('Published before this time.'),
      parameters: Type.Optional(
        Type.Object(
          {},
          {
            additionalProperties: true,
            maxProperties: 10,
            description:
              'The parameters of the type, as listed in the tool description. All have defaults except `by` of `feature_rollup`.',
          },
        ),
      ),
      idempotency_key: Type.Optional(
        Type.String({
          pattern: claimKeyPattern,
          description: 'Any text: for 24 hours the same call with the same key does not start a second run.',
        }),
      ),
    },
  },
  async ({ analysis_type, parameters = {}, idempotency_key: key, ...scope }, api) => {
    const profile = analysis_type === 'feature_rollup' ? undefined : await defaultProfile(api)
    const request = { analysis_type, embedding_profile_id: profile, input_scope: scope, parameters }
    const run = await api.post<Run>('/v1/analysis/runs', request, key === undefined ? {} : { 'idempotency-key': key })
    return { ...briefly(run), next: 'call read_analysis with this run_id in a few seconds' }
  },
)

export const readAnalysis = tool(
  {
    name: 'read_analysis',
    title: 'Read an analysis',
    description:
      'Without `run_id`: the runs of this application, newest first. With `run_id`: the status of the run and, once it has succeeded, the names and sizes of its results. ' +
      'With `artifact` as well: rows of that result from `offset` on (`clusters` of clustering, `groups` of deduplication, `edges` of knn_graph, `rollup` of feature_rollup); continue with `next_offset`.',
    quotes: true,
    fields: {
      run_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'From `start_analysis`.' })),
      artifact: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'The name of a result.' })),
      offset: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0, description: 'The first row to return.' }),
      ),
      limit: Type.Optional(listLength(100, rowsDefault)),
      cursor: cursor('Without `run_id`: `next_cursor` of the previous response.'),
    },
  },
  async ({ run_id, artifact, offset = 0, limit, cursor: after }, api, tokens) => {
    if (run_id === undefined) return runsAnswer(api, limit ?? runsDefault, after, tokens)
    const path = `/v1/analysis/runs/${segmentOf('run_id', run_id)}`
    const run = await api.get<Run>(path)
    const { artifacts } = await api.get<{ readonly artifacts: readonly Artifact[] }>(`${path}/artifacts`)
    if (artifact === undefined) {
      const { input, warnings, error } = run
      const results = artifacts.map(({ name, rows, bytes }) => ({ artifact: name, rows, bytes }))
      return { ...briefly(run), input, warnings, error, results }
    }
    const found = artifacts.find(({ name }) => name === artifact)
    if (found === undefined) throw noSuchResult(run, artifacts)
    if (found.bytes > readBytesMax) throw tooLarge(path, found)
    const rows = await rowsOf(await api.file(`${path}/artifacts/${found.artifact_id}/file`), {
      rowStart: Math.min(offset, found.rows),
      rowEnd: Math.min(offset + (limit ?? rowsDefault), found.rows),
    })
    const head = { run_id, artifact, rows: found.rows, offset }
    const { shown } = fitting(rows, () => '', tokens - tokensIn(JSON.stringify(head)) - 50)
    const next = offset + shown.length
    // A row that is too long by itself is skipped. Otherwise a caller could never read past it.
    const isTooLong = shown.length === 0 && rows.length > 0
    return {
      ...head,
      next_offset: next + (isTooLong ? 1 : 0) < found.rows ? next + (isTooLong ? 1 : 0) : undefined,
      note: isTooLong
        ? 'the row is longer than max_tokens: increase max_tokens, or continue at next_offset'
        : undefined,
      quoted: shown,
    }
  },
)

async function runsAnswer(api: Api, limit: number, after: string | undefined, tokens: number): Promise<object> {
  const page = await api.get<{ readonly runs: readonly Run[]; readonly next_cursor?: string }>('/v1/analysis/runs', {
    limit: Math.min(limit, 50),
    cursor: after,
  })
  const { shown, left } = fitting(page.runs.map(briefly), ({ run_id }) => run_id, tokens - 100)
  return { runs: shown, not_shown: left.length === 0 ? undefined : left, next_cursor: page.next_cursor }
}

async function defaultProfile(api: Api): Promise<string | undefined> {
  const { embedding_profiles: profiles } = await api.get<{
    readonly embedding_profiles: readonly { readonly id: string; readonly is_default: boolean }[]
  }>('/v1/account')
  return profiles.find(({ is_default }) => is_default)?.id
}

/** Reads rows as JSON values. */
async function rowsOf(bytes: Uint8Array, range: { rowStart: number; rowEnd: number }): Promise<readonly object[]> {
  const { parquetReadObjects } = await import('hyparquet')
  const rows = await parquetReadObjects({
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer,
    compressors: { ZSTD: (compressed) => zstdDecompressSync(compressed) },
    ...range,
  })
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])))
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'string') return clipped(value, 500)
  if (Array.isArray(value)) return value.slice(0, 50).map(plain)
  return value
}

function noSuchResult({ status }: Run, artifacts: readonly Artifact[]): Refusal {
  const message =
    artifacts.length > 0
      ? `must be one of ${artifacts.map(({ name }) => name).join(', ')}`
      : `does not exist: the run is ${status}, and only a run that succeeded has results`
  const details = [{ path: 'artifact', message }]
  return new Refusal(
    { status: 404, retryAfterSeconds: null },
    { code: 'analysis_artifact_not_found', message: `artifact ${message}`, details },
  )
}

function tooLarge(path: string, { artifact_id, bytes }: Artifact): Refusal {
  const message = `the file has ${bytes} bytes, too many to read here: download it from ${path}/artifacts/${artifact_id}/file with the same key`
  return new Refusal({ status: 413, retryAfterSeconds: null }, { code: 'payload_too_large', message })
}
