/** How many ids one statement names: few lengths, so that few statements are kept prepared, all below what a database takes. */
const lengths = [1, 16, 64, 128] as const

/** For one statement: filled up to a length that others have too, so that it is prepared already. */
export function filledUp(ids: readonly string[]): readonly string[] {
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
