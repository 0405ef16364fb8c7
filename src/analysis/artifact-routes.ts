import { Type } from 'typebox'
import { namesTag } from '../http/conditional-requests.ts'
import { consumerOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { TidemarkError } from '../platform/errors.ts'
import { formatTime } from '../platform/time.ts'
import { choice, dateTime, idOf, named, noFields } from '../platform/validation.ts'
import { algorithmEntries } from './algorithms.ts'
import { rangeOf } from './byte-range.ts'
import { RunById } from './run-routes.ts'
import type { AnalysisRuns } from './runs.ts'
import { about, analysisRoute } from './shared-routes.ts'

const mediaType = 'application/vnd.apache.parquet'

const ArtifactAnswer = named(
  'Artifact',
  Type.Object({
    artifact_id: Type.String(),
    name: Type.String({ description: 'Which part of the result this file holds.' }),
    format: choice(['parquet']),
    rows: Type.Integer(),
    bytes: Type.Integer(),
    checksum: Type.String({ description: '`sha256:` followed by the digest in hex.' }),
    expires_at: dateTime,
  }),
)

const invalid = 'invalid_analysis_request'
const forms = algorithmEntries.flatMap(([type, { artifacts }]) =>
  Object.entries(artifacts).map(([name, form]) => `- \`${name}\` of \`${type}\`: ${form.description}`),
)
const file = (description: string) => ({
  description,
  content: { [mediaType]: { schema: Type.String({ format: 'binary' }) } },
})

export function analysisArtifactRoutes(app: TypedApp, runs: AnalysisRuns): void {
  app.get(
    '/v1/analysis/runs/:run_id/artifacts',
    {
      ...analysisRoute('analysis.artifacts.list', invalid, 'analysis_not_found'),
      schema: {
        ...about(
          'List the artifacts of an analysis run',
          'The result files of a run. Empty unless the run has succeeded.',
        ),
        params: RunById,
        querystring: noFields,
        response: { 200: named('ArtifactList', Type.Object({ artifacts: Type.Array(ArtifactAnswer) })) },
      },
    },
    async (request) => {
      const { run, artifacts } = await runs.artifacts(consumerOf(request), request.params.run_id)
      return {
        artifacts: artifacts.map(({ artifactId, name, rows, bytes, sha256 }) => ({
          artifact_id: artifactId,
          name,
          format: 'parquet' as const,
          rows,
          bytes,
          checksum: `sha256:${sha256}`,
          expires_at: formatTime(run.expiresAt),
        })),
      }
    },
  )

  app.get(
    '/v1/analysis/runs/:run_id/artifacts/:artifact_id/file',
    {
      ...analysisRoute('analysis.artifacts.download', invalid, 'analysis_artifact_not_found', 'range_not_satisfiable'),
      schema: {
        ...about(
          'Download an artifact',
          `A Parquet file compressed with ZSTD, without texts or vectors.\n\n${forms.join('\n')}\n\n` +
            'Supports `Range` (one range), `If-Range` and `If-None-Match`. Verify the download with `checksum`.',
        ),
        params: Type.Object({ ...RunById.properties, artifact_id: idOf('artifact') }),
        querystring: noFields,
        response: {
          200: file('The file.'),
          206: file('The requested range.'),
          302: Type.Null({
            description: 'Redirect to the file, valid for a few minutes, on instances that keep artifacts in a bucket.',
          }),
          304: Type.Null({ description: 'Not modified: `If-None-Match` has the tag of the file.' }),
        },
      },
    },
    async (request, reply) => {
      const { run_id: runId, artifact_id: artifactId } = request.params
      const artifact = await runs.artifact(consumerOf(request), runId, artifactId)
      const tag = `"${artifact.sha256}"`
      reply.header('etag', tag).header('accept-ranges', 'bytes')
      if (namesTag(request.headers['if-none-match'], tag)) return reply.status(304).send(null)
      const conditional = request.headers['if-range']
      const range = rangeOf(
        conditional === undefined || conditional === tag ? request.headers.range : undefined,
        artifact.bytes,
      )
      if (range.kind === 'unsatisfiable') {
        reply.header('content-range', `bytes */${artifact.bytes}`)
        throw new TidemarkError(
          'range_not_satisfiable',
          `the file has ${artifact.bytes} bytes: request a range within them`,
        )
      }
      // Ranges are served from here, because the bucket has other entity tags.
      const address = request.method === 'GET' && range.kind === 'whole' ? await runs.address(artifact) : null
      if (address !== null) return reply.header('cache-control', 'no-store').redirect(address, 302)
      const { start, end } = range.kind === 'part' ? range : { start: 0, end: artifact.bytes - 1 }
      // For HEAD the body is read and discarded, so it is only one byte.
      const stream = await runs.bytes(artifact, start, request.method === 'HEAD' ? start : end)
      if (range.kind === 'part') {
        reply.status(206).header('content-range', `bytes ${start}-${end}/${artifact.bytes}`)
      }
      return reply
        .type(mediaType)
        .header('content-length', end - start + 1)
        .header('content-disposition', `attachment; filename="${artifact.artifactId}.parquet"`)
        .send(stream as never)
    },
  )
}
