import type { Count, Measures } from '../platform/measures.ts'
import { type IndexingState, type IndexingWork, pendingCountedMax } from './indexing-state.ts'

/** The size of the index, its backlog, and how fast it is fed. */
export class IndexingMeasures {
  readonly #measures: Measures
  readonly #fed: Count<never>
  readonly #vectors: Count<'profile'>

  constructor(measures: Measures) {
    this.#measures = measures
    this.#fed = measures.counter({
      name: 'tidemark_index_fed_documents_total',
      help: 'Changed documents that this process has fed to the index.',
    })
    this.#vectors = measures.counter({
      name: 'tidemark_vectors_made_total',
      help: 'Vectors that this process has made, by profile.',
      labels: ['profile'],
    })
  }

  fed(documents: number): void {
    this.#fed({}, documents)
  }

  madeVectors(profile: string, count: number): void {
    this.#vectors({ profile }, count)
  }

  /** `state` must count the backlog no further than `pendingCountedMax`. */
  watch(work: IndexingWork, state: () => Promise<IndexingState>): void {
    this.#measures.gauge(
      {
        name: 'tidemark_office_held',
        help: '1 where this process feeds the index, or makes the vectors, for all; of one of its own it always feeds. 0 otherwise.',
        labels: ['office'],
      },
      () => [
        { labels: { office: 'feeding' }, value: Number(work.isFeeding) },
        { labels: { office: 'vectors' }, value: Number(work.isMakingVectors) },
      ],
    )
    const refilling = '1 while the index does not have all that the store had when this process began or emptied it.'
    this.#measures.gauge({ name: 'tidemark_index_refilling', help: refilling }, () => Number(work.isRefilling))
    const behind = '1 while the index may lack what was acknowledged long ago, and searches say so.'
    this.#measures.gauge({ name: 'tidemark_index_behind', help: behind }, () => Number(work.isBehind))
    this.#measures.gauges(series, async () => {
      const { health, backlog, oldestPendingSeconds } = await state()
      return {
        tidemark_index_searchable: Number(health.searchable),
        tidemark_index_documents: health.documents,
        tidemark_index_chunks: health.chunks,
        tidemark_index_vectors: health.profiles.map(({ profileId, chunks }) => ({
          labels: { profile: profileId },
          value: chunks,
        })),
        tidemark_index_segments: health.segments,
        tidemark_index_memory_bytes: health.memoryBytes,
        tidemark_index_disk_bytes: health.diskBytes,
        tidemark_index_pending_documents: backlog.documents,
        tidemark_vectors_waiting: backlog.waitingVectors,
        tidemark_index_oldest_pending_seconds: oldestPendingSeconds ?? 0,
      }
    })
  }
}

const series = {
  tidemark_index_searchable: '1 where a search would be answered, 0 otherwise.',
  tidemark_index_documents: 'Documents that are found.',
  tidemark_index_chunks: 'Chunks that are found, of earlier versions too.',
  tidemark_index_vectors: { help: 'Chunks that have a vector, by profile.', labels: ['profile'] },
  tidemark_index_segments: 'Pieces that a search looks through one by one.',
  tidemark_index_memory_bytes: 'Memory that this process holds for the index.',
  tidemark_index_disk_bytes: 'What the index takes on disk.',
  tidemark_index_pending_documents: `Changed documents that the index has not seen, counted up to ${pendingCountedMax}.`,
  tidemark_vectors_waiting: `Chunks that wait for a vector, of each profile counted up to ${pendingCountedMax}.`,
  tidemark_index_oldest_pending_seconds: 'Since the oldest of both came in; 0 where nothing waits.',
} as const
