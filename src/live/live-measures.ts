import type { Measures } from '../platform/measures.ts'
import type { LiveStore } from './live-store.ts'

const countedMax = 10_000

/** Reports the unfinished tasks of live queries in the whole instance. */
export function measureTasks(measures: Measures, store: Pick<LiveStore, 'openTasks'>): void {
  const help = `Unfinished tasks of live queries of all processes, by state. Each state is counted up to ${countedMax}.`
  measures.gauges({ tidemark_live_tasks: { help, labels: ['state'] } }, async () => {
    const open = await store.openTasks(countedMax)
    return {
      tidemark_live_tasks: Object.entries(open).map(([state, value]) => ({ labels: { state }, value })),
    }
  })
}
