import { decompress } from 'fzstd'
import { parquetReadObjects } from 'hyparquet'
import { type EdgeRow, edgeColumns, graphOfEdges } from './graph-of-edges.ts'

/** Reads a Parquet file. Replies with all its rows or, for edges, with their graph. */
self.addEventListener('message', async ({ data }: MessageEvent<{ bytes: ArrayBuffer; as: 'rows' | 'graph' }>) => {
  const { bytes: file, as } = data
  const compressors = {
    ZSTD: (input: Uint8Array, length: number) => decompress(input, new Uint8Array(length)),
  }
  try {
    const columns = as === 'graph' ? { columns: [...edgeColumns] } : {}
    const rows = await parquetReadObjects({ file, compressors, ...columns })
    if (as === 'rows') return postMessage({ result: rows })
    const graph = graphOfEdges(rows as unknown as readonly EdgeRow[])
    postMessage(
      { result: graph },
      { transfer: [graph.edges.buffer, graph.similarities.buffer, graph.strengths.buffer] },
    )
  } catch (error) {
    postMessage({ fault: error instanceof Error ? error.message : String(error) })
  }
})
