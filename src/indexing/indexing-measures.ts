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
        help: '1 if this process does a job for all: feeding the index (always 1 with its own index), or making vectors. 0 otherwise.',
        labels: ['office'],
      },
      () => [
        { labels: { office: 'feeding' }, value: Number(work.isFeeding) },
        { labels: { office: 'vectors' }, value: Number(work.isMakingVectors) },
      ],
    )
    const refilling =
      '1 while the index does not yet have everything that the store had when this process started or emptied the index.'
    this.#measures.gauge({ name: 'tidemark_index_refilling', help: refilling }, () => Number(work.isRefilling))
    const behind = '1 while the index may be missing documents acknowledged long ago. Searches then return a warning.'
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
  tidemark_index_searchable: '1 if searches are answered, 0 otherwise.',
  tidemark_index_documents: 'Searchable documents.',
  tidemark_index_chunks: 'Searchable chunks, including those of earlier versions.',
  tidemark_index_vectors: { help: 'Chunks that have a vector, by profile.', labels: ['profile'] },
  tidemark_index_segments: 'Segments, which a search goes through one by one.',
  tidemark_index_memory_bytes: 'Memory that the index uses in this process.',
  tidemark_index_disk_bytes: 'Disk space that the index uses.',
  tidemark_index_pending_documents: `Changed documents that the index has not seen, counted up to ${pendingCountedMax}.`,
  tidemark_vectors_waiting: `Chunks without a vector, counted up to ${pendingCountedMax} per profile.`,
  tidemark_index_oldest_pending_seconds: 'Age of the oldest pending item, including vectors; 0 if nothing is pending.',
} as const
