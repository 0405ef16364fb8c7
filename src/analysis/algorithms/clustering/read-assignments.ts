import { zstdDecompressSync } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'
import type { PlacedChunk } from './follow-clusters.ts'

/** What an earlier run wrote about where its chunks are. */
export async function readAssignments(bytes: Uint8Array): Promise<PlacedChunk[]> {
  const rows = await parquetReadObjects({
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer,
    columns: ['subject_id', 'document_id', 'cluster_id'],
    compressors: { ZSTD: (compressed) => zstdDecompressSync(compressed) },
  })
  return rows.map(({ subject_id: chunkId, document_id: documentId, cluster_id: clusterId }) => ({
    chunkId,
    documentId,
    clusterId,
  }))
}
