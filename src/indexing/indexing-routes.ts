import { Type } from 'typebox'
import type { Embedder } from '../embedding/embedder.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { choice, named, noFields, orNull } from '../platform/validation.ts'
import type { IndexingState } from './indexing-state.ts'

export function indexingRoutes(
  app: TypedApp,
  parts: { readonly embedder: Embedder; readonly state: () => Promise<IndexingState> },
): void {
  app.get(
    '/admin/v1/indexing',
    {
      config: { operation: 'admin.indexing.read', invalid: 'invalid_request', role: 'viewer' },
      schema: {
        tags: ['Admin'],
        summary: 'Get the indexing status',
        description:
          'How far the search index is behind. Words are indexed first; vectors follow as the embedding model computes them.',
        querystring: noFields,
        response: {
          200: named(
            'IndexingStatus',
            Type.Object({
              state: choice(['ready', 'needs_rebuild']),
              pending_chunks: Type.Integer({
                description: 'Changed documents that are not indexed yet, plus chunks without a vector.',
              }),
              pending_documents: Type.Integer({ description: 'Changed documents that are not indexed yet.' }),
              pending_vectors: Type.Integer({ description: 'Chunks without a vector, summed over all profiles.' }),
              feeding: Type.Boolean({
                description: 'Whether this process writes to the index. With a shared index only one process does.',
              }),
              documents_per_second: orNull(
                Type.Number({
                  description:
                    'Documents indexed per second by this process, over the last minute. Null if it indexes none: nothing is pending, or another process does it.',
                }),
              ),
              vectors_per_second: orNull(
                Type.Number({
                  description:
                    'Vectors computed per second by this process, over the last minute. Null if it computes none: nothing is pending, or another process does it.',
                }),
              ),
              vectors_ready_in_seconds: orNull(
                Type.Number({
                  description: 'How long the pending vectors will take at that rate. Null if there is no rate.',
                }),
              ),
              oldest_pending_seconds: orNull(
                Type.Number({
                  description:
                    'The age of the oldest pending item, which is high during a rebuild. Null if nothing is pending.',
                }),
              ),
              indexed_chunks: Type.Integer(),
              indexed_documents: Type.Integer(),
              segments: Type.Integer(),
              memory_bytes: Type.Integer(),
              disk_bytes: Type.Integer(),
              profiles: Type.Array(
                named(
                  'IndexedProfile',
                  Type.Object({
                    id: Type.String(),
                    dimensions: orNull(Type.Integer()),
                    indexed_chunks: Type.Integer(),
                  }),
                ),
              ),
              warnings: Type.Array(Type.String({ description: 'Problems that an operator should act on, and how.' })),
            }),
          ),
        },
      },
    },
    async () => {
      const state = await parts.state()
      const { health, backlog } = state
      const active = { profileId: parts.embedder.profileId, dimensions: parts.embedder.dimensions, chunks: 0 }
      const profiles = health.profiles.some(({ profileId }) => profileId === active.profileId)
        ? health.profiles
        : [...health.profiles, active]
      return {
        state: health.state,
        pending_chunks: backlog.documents + backlog.waitingVectors,
        pending_documents: backlog.documents,
        pending_vectors: backlog.waitingVectors,
        feeding: state.isFeeding,
        documents_per_second: state.documentsPerSecond,
        vectors_per_second: state.vectorsPerSecond,
        vectors_ready_in_seconds:
          state.vectorsPerSecond === null ? null : backlog.waitingVectors / state.vectorsPerSecond,
        oldest_pending_seconds: state.oldestPendingSeconds,
        indexed_chunks: health.chunks,
        indexed_documents: health.documents,
        segments: health.segments,
        memory_bytes: health.memoryBytes,
        disk_bytes: health.diskBytes,
        profiles: profiles.map(({ profileId, dimensions, chunks }) => ({
          id: profileId,
          dimensions,
          indexed_chunks: chunks,
        })),
        warnings: [...state.warnings],
      }
    },
  )
}
