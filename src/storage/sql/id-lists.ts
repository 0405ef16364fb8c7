/** How many ids one statement names: few lengths, so that few statements are kept prepared, all below what a database takes. */
const lengths = [1, 16, 64, 128] as const

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
