import { sql } from './kysely.ts'

/** A dataset that is being deleted takes no documents, and is in no list, until it is gone. */
export const isNotLeaving = sql<boolean>`not exists (
  select 1 from erasure where erasure.erasure_id = dataset.hidden_by and erasure.deletes_dataset is not null
)`
