import { Client } from '../search/client.ts'

/** Reads the change feed from its beginning, and waits at its end, as a consumer does who keeps a copy. */
export class FeedReader {
  /** How often a document was told as created. */
  readonly seen = new Map<string, number>()
  readonly faults: string[] = []
  readonly #client: Client
  #sequence = 0
  #cursor: string | null = null
  #isOver = false
  #reading: Promise<void>

  constructor(address: string, key: string) {
    this.#client = new Client(address, key)
    this.#reading = this.#read()
  }

  /** What the feed told of these documents, when it has no more to tell: nothing where all is well. */
  async compare(stored: ReadonlySet<string>): Promise<string[]> {
    this.#isOver = true
    await this.#reading
    while ((await this.#page(0)) > 0);
    this.#client.close()
    const missing = [...stored].filter((id) => !this.seen.has(id)).length
    const twice = [...this.seen.values()].filter((times) => times > 1).length
    const unknown = [...this.seen.keys()].filter((id) => !stored.has(id)).length
    return [
      ...this.faults.slice(0, 10),
      ...(missing === 0 ? [] : [`${missing} documents are missing in the feed`]),
      ...(twice === 0 ? [] : [`${twice} documents were told more than once`]),
      ...(unknown === 0 ? [] : [`${unknown} documents were told that nobody was answered for`]),
    ]
  }

  async #read(): Promise<void> {
    while (!this.#isOver) {
      await this.#page(2).catch((error: Error) => this.faults.push(error.message))
    }
  }

  async #page(waitSeconds: number): Promise<number> {
    const cursor = this.#cursor === null ? '' : `&cursor=${this.#cursor}`
    const { items, next_cursor } = await this.#client.call('GET', `/v1/changes?limit=200&wait=${waitSeconds}${cursor}`)
    for (const { sequence, event_type, document_id } of items) {
      if (sequence <= this.#sequence) this.faults.push(`event ${sequence} came after ${this.#sequence}`)
      this.#sequence = sequence
      if (event_type === 'document.created') this.seen.set(document_id, (this.seen.get(document_id) ?? 0) + 1)
    }
    this.#cursor = next_cursor
    return items.length
  }
}
