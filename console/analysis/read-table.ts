import { downloadFile } from '../app/call-api.ts'
import { pathSegment } from '../shared/path-segment.ts'
import type { Artifact } from './analysis-types.ts'
import type { Graph } from './graph-of-edges.ts'

export const artifactPath = (runId: string, { artifact_id: id }: Artifact): string =>
  `/v1/analysis/runs/${pathSegment(runId)}/artifacts/${pathSegment(id)}/file`

/** Reads the rows of a run's file in a worker, so that the page stays responsive. */
export const readRows = <Row>(path: string, signal: AbortSignal): Promise<readonly Row[]> => read(path, 'rows', signal)

export const readGraph = (path: string, signal: AbortSignal): Promise<Graph> => read(path, 'graph', signal)

async function read<Result>(path: string, as: 'rows' | 'graph', signal: AbortSignal): Promise<Result> {
  const bytes = await downloadFile(path, { signal })
  const worker = new Worker(new URL('./read-table-worker.ts', import.meta.url), { type: 'module' })
  try {
    return await new Promise((resolve, reject) => {
      worker.addEventListener('message', ({ data }) =>
        'result' in data ? resolve(data.result) : reject(new Error(`The file could not be read: ${data.fault}.`)),
      )
      worker.addEventListener('error', () => reject(new Error('The code that reads the file could not be loaded.')))
      signal.addEventListener('abort', () => reject(signal.reason))
      worker.postMessage({ bytes, as }, [bytes])
    })
  } finally {
    worker.terminate()
  }
}
