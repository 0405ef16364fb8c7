/**
 * A map for ids that have just been read or received. For a `Map`, V8 first interns each id, which costs a cache miss
 * in its string table. This map hashes an id by its last characters, which are random, and then compares the whole id.
 */
export class IdMap<T> {
  readonly #byEnd = new Map<number, Entry<T>>()

  get(id: string): T | undefined {
    let entry = this.#byEnd.get(endOf(id))
    while (entry !== undefined && entry.id !== id) entry = entry.next
    return entry?.value
  }

  /** The id must not be in the map yet. */
  add(id: string, value: T): void {
    const end = endOf(id)
    this.#byEnd.set(end, { id, value, next: this.#byEnd.get(end) })
  }
}

interface Entry<T> {
  readonly id: string
  readonly value: T
  readonly next: Entry<T> | undefined
}

/** Six characters of five bits each. */
const endLength = 6

function endOf(id: string): number {
  let end = 0
  for (let i = Math.max(0, id.length - endLength); i < id.length; i++) end = (end << 5) ^ id.charCodeAt(i)
  return end
}
