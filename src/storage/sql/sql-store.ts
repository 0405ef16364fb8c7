import type { Kysely } from 'kysely'
import type { AccessStore } from '../../access/access-store.ts'
import type { SubscriptionStore } from '../../analysis/subscription-store.ts'
import type { CatalogStore } from '../../catalog/catalog-store.ts'
import type { ChangeLog } from '../../changes/change-log.ts'
import type { ExportSource } from '../../export/export-source.ts'
import type { IndexSource } from '../../indexing/index-source.ts'
import type { ContentStore } from '../../ingest/content-store.ts'
import type { LiveStore } from '../../live/live-store.ts'
import type { ClockStore } from '../../operator/clock-store.ts'
import type { ErasureStore } from '../../operator/erasure-store.ts'
import type { HistoryStore } from '../../operator/history-store.ts'
import type { OperatorStore } from '../../operator/operator-store.ts'
import type { SearchSource } from '../../search/search-source.ts'
import type { SearchTexts } from '../../search/search-texts.ts'
import { sqlAccessStore } from './access-store.ts'
import { sqlAnalysisStore } from './analysis-store.ts'
import { sqlCatalogStore } from './catalog-store.ts'
import { sqlChangeLog } from './change-log.ts'
import { sqlClockStore } from './clock-store.ts'
import { sqlContentStore } from './content-store.ts'
import { sqlErasureStore } from './erasure-store.ts'
import { sqlExportSource } from './export-source.ts'
import { sqlIndexSource } from './index-source.ts'
import { sqlLiveStore } from './live-store.ts'
import { sqlOperatorStore } from './operator-store.ts'
import { sqlSearchTexts } from './search-texts.ts'
import type { Tables } from './tables.ts'

/**
 * All ports of the relational store. A method takes and returns plain data. On every dialect, each call is all or
 * nothing and reads one snapshot.
 */
export interface Store {
  readonly access: AccessStore
  readonly operator: OperatorStore
  readonly content: ContentStore
  readonly changes: ChangeLog
  readonly catalog: CatalogStore
  readonly indexSource: IndexSource & SearchSource
  readonly searchTexts: SearchTexts
  readonly live: LiveStore
  readonly analysis: SubscriptionStore
  readonly exportSource: ExportSource
  readonly erasures: ErasureStore
  readonly history: HistoryStore
  readonly clock: ClockStore
}

/** All ports except those that need to know the dialect. */
export function sqlStore(db: Kysely<Tables>): Omit<Store, 'history'> {
  const indexSource = sqlIndexSource(db)
  return {
    access: sqlAccessStore(db),
    operator: sqlOperatorStore(db),
    content: sqlContentStore(db),
    changes: sqlChangeLog(db),
    catalog: sqlCatalogStore(db),
    indexSource,
    searchTexts: sqlSearchTexts(indexSource),
    live: sqlLiveStore(db),
    analysis: sqlAnalysisStore(db),
    exportSource: sqlExportSource(db),
    erasures: sqlErasureStore(db),
    clock: sqlClockStore(db),
  }
}
