import { Ingest } from '../ingest/ingest.ts'
import { Operator } from '../operator/operator.ts'
import type { Config } from '../settings/config.ts'
import type { OpenOptions } from '../storage/backend.ts'
import { backendOf } from '../storage/backends.ts'
import type { OpenStore } from '../storage/open-store.ts'

/** The use cases on an open store without a server, for the command line. */
export interface Workbench {
  readonly store: OpenStore['store']
  readonly operator: Operator
  readonly ingest: Ingest
  readonly migrated: readonly string[]
  readonly elected: OpenStore['elected']
  close(): Promise<void>
}

export async function composeWorkbench(config: Config, callers: OpenOptions['callers'] = 'one'): Promise<Workbench> {
  const open = await backendOf(config).open({ callers })
  return {
    store: open.store,
    operator: new Operator(open.store.operator),
    ingest: new Ingest(open.store.content, () => {}),
    migrated: open.migrated,
    elected: (election) => open.elected(election),
    close: () => open.close(),
  }
}
