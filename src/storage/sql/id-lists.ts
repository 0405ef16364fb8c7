import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** How many ids one statement names: few lengths, so that few statements are kept prepared, all below what a database takes. */
const lengths = [1, 16, 64, 128] as const

/**
 * A statement about rows by their ids, which are its last parameters. Its text is made once for each length of the list:
 * for every page of results it was a tenth of what the reader of them did.
 */
export function readingByIds<Row>(
  db: Kysely<Tables>,
  statement: (ids: readonly string[]) => Compilable<Row>,
): (ids: readonly string[]) => Promise<readonly Row[]> {
  const made = new Map<number, CompiledQuery<Row>>()
  return async (ids) => {
    if (ids.length === 0) return []
    const all = filledUp(ids)
    let query = made.get(all.length)
    if (query === undefined) {
      query = statement(all).compile()
      made.set(all.length, query)
    }
    const parameters = [...query.parameters.slice(0, -all.length), ...all]
    return (await db.executeQuery<Row>({ ...query, parameters })).rows
  }
}

/** For one statement: filled up to a length that others have too, so that it is prepared already. */
function filledUp(ids: readonly string[]): readonly string[] {
  const length = Math.ceil(ids.length / step) * step
  return ids.length <= 1 || ids.length === length ? ids : [...ids, ...Array<string>(length - ids.length).fill(ids[0]!)]
}
const step = 20

/** The ids in lists for statements, each filled up with one that is in it. */
export function* idLists(ids: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < ids.length; ) {
    const left = ids.length - from
    const length = lengths.find((one) => one >= left) ?? lengths.at(-1)!
    const list = ids.slice(from, from + length)
    from += list.length
    while (list.length < length) list.push(list[0]!)
    yield list
  }
}
