import { sql } from 'kysely'

/** The condition of every list of datasets: one that is being deleted is not listed, and accepts no documents. */
export const isNotBeingDeleted = sql<boolean>`not exists (
  select 1 from erasure where erasure.erasure_id = dataset.hidden_by and erasure.deletes_dataset is not null
)`
