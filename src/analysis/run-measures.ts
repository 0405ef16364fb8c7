import type { Measures } from '../platform/measures.ts'
import type { AnalysisStore } from './analysis-store.ts'

const countedMax = 10_000

/** Reports unfinished runs of the whole instance. */
export function measureRuns(measures: Measures, store: Pick<AnalysisStore, 'unfinishedRuns'>): void {
  const help = `Unfinished analysis runs of all processes, by state. Each state is counted up to ${countedMax}.`
  measures.gauges({ tidemark_analysis_runs: { help, labels: ['state'] } }, async () => {
    const unfinished = await store.unfinishedRuns(countedMax)
    return {
      tidemark_analysis_runs: Object.entries(unfinished).map(([state, value]) => ({ labels: { state }, value })),
    }
  })
}

/** Wraps the store of a worker to count the runs that it ends. */
export function countEnds<Store extends Pick<AnalysisStore, 'endRun'>>(measures: Measures, store: Store): Store {
  const ended = measures.counter({
    name: 'tidemark_analysis_runs_ended_total',
    help: 'Analysis runs that this process ended, by final state.',
    labels: ['state'],
    known: [{ state: 'succeeded' }, { state: 'failed' }],
  })
  const endRun: AnalysisStore['endRun'] = async (runId, workerId, end) => {
    const isOurs = await store.endRun(runId, workerId, end)
    if (isOurs) ended({ state: 'error' in end ? 'failed' : 'succeeded' })
    return isOurs
  }
  return { ...store, endRun }
}
