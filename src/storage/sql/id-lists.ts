/**
 * The possible lengths of a list. There are few, so that few statements stay prepared. All are below the limit of any
 * database.
 */
const lengths = [1, 16, 64, 128] as const

/** Makes a function that reads rows by their ids, with one statement. */
export function readingByIds<Row>(
  statement: (ids: readonly string[]) => { execute(): Promise<readonly Row[]> },
): (ids: readonly string[]) => Promise<readonly Row[]> {
  return async (ids) => (ids.length === 0 ? [] : statement(padded(ids)).execute())
}

/**
 * Pads the ids to a multiple of `step` with an id that is already in the list, so that few statements stay prepared.
 */
function padded(ids: readonly string[]): readonly string[] {
  const length = Math.ceil(ids.length / step) * step
  return ids.length <= 1 || ids.length === length ? ids : [...ids, ...Array<string>(length - ids.length).fill(ids[0]!)]
}
const step = 20

/** Splits the ids into lists for statements. Each list is padded with an id that is already in it. */
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
