import { sql } from 'kysely'

/** A dataset that is being deleted accepts no documents, and is in no list. */
export const isNotLeaving = sql<boolean>`not exists (
  select 1 from erasure where erasure.erasure_id = dataset.hidden_by and erasure.deletes_dataset is not null
)`
