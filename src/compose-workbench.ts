import type { Config } from './config.ts'
import { Ingest } from './ingest/ingest.ts'
import { Operator } from './operator/operator.ts'
import type { OpenOptions } from './storage/backend.ts'
import { backendOf } from './storage/backends.ts'
import type { OpenStore } from './storage/open-store.ts'

/** What commands work with: the use cases over an open store, without a server. */
export interface Workbench {
  readonly store: OpenStore['store']
  readonly operator: Operator
  readonly ingest: Ingest
  readonly migrated: readonly string[]
  close(): Promise<void>
}

export async function composeWorkbench(config: Config, callers: OpenOptions['callers'] = 'one'): Promise<Workbench> {
  const open = await backendOf(config).open({ callers })
  return {
    store: open.store,
    operator: new Operator(open.store.operator),
    ingest: new Ingest(open.store.content, () => {}),
    migrated: open.migrated,
    close: () => open.close(),
  }
}
