import type { Client } from '../support/client.ts'

/** Reads the change feed from its beginning and waits at its end, as an application that keeps a copy does. */
export class FeedReader {
  /** How often the feed delivered the creation of each document. */
  readonly delivered = new Map<string, number>()
  readonly faults: string[] = []
  readonly #client: Client
  #sequence = 0
  #cursor: string | null = null
  #isOver = false
  #reading: Promise<void>

  constructor(client: Client) {
    this.#client = client
    this.#reading = this.#read()
  }

  /** Reads the feed to its end. Returns its faults: none if it delivered each of these documents once. */
  async compare(stored: ReadonlySet<string>): Promise<string[]> {
    this.#isOver = true
    await this.#reading
    while ((await this.#page(0)) > 0);
    const missing = [...stored].filter((id) => !this.delivered.has(id)).length
    const twice = [...this.delivered.values()].filter((times) => times > 1).length
    const unknown = [...this.delivered.keys()].filter((id) => !stored.has(id)).length
    return [
      ...this.faults.slice(0, 10),
      ...(missing === 0 ? [] : [`${missing} documents are missing in the feed`]),
      ...(twice === 0 ? [] : [`${twice} documents were delivered more than once`]),
      ...(unknown === 0 ? [] : [`${unknown} documents were delivered but not acknowledged`]),
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
      if (event_type === 'document.created') this.delivered.set(document_id, (this.delivered.get(document_id) ?? 0) + 1)
    }
    this.#cursor = next_cursor
    return items.length
  }
}
