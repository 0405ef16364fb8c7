import type { Measures } from '../platform/measures.ts'
import type { OpenStore } from './open-store.ts'

/** Measures that every kind of store has. Measures of one kind are added when it is opened. */
export function measureStore(measures: Measures, { load, isDiskFull }: OpenStore): void {
  const gauge = (name: string, help: string, read: () => number): void => measures.gauge({ name, help }, read)
  gauge('tidemark_store_writer_calls', 'Calls waiting for or running on the writer.', () => load().writer)
  gauge('tidemark_store_reader_calls', 'Calls waiting for or running on readers.', () => load().readers)
  gauge('tidemark_store_lacks_room', '1 while a write was refused because a disk is full, 0 otherwise.', () =>
    Number(isDiskFull()),
  )
}
