import { type Client, parsed } from './client.ts'

const linesPerBulk = 500
/** With two, OpenSearch gets the next request as soon as it has finished one. */
const inFlightMax = 2

/** Sends lines to an index of OpenSearch, many at a time. Throws if a line is refused. */
export class Bulks {
  sent = 0
  readonly #client: Client
  readonly #path: string
  readonly #report: (sent: number) => void
  readonly #inFlight = new Set<Promise<void>>()
  #lines: string[] = []

  constructor(client: Client, index: string, report: (sent: number) => void) {
    this.#client = client
    this.#path = `/${index}/_bulk`
    this.#report = report
  }

  async add(id: string, source: string): Promise<void> {
    this.#lines.push(`{"index":{"_id":${JSON.stringify(id)}}}\n${source}\n`)
    if (this.#lines.length >= linesPerBulk) await this.#send()
  }

  async end(): Promise<void> {
    if (this.#lines.length > 0) await this.#send()
    await Promise.all(this.#inFlight)
  }

  async #send(): Promise<void> {
    const lines = this.#lines
    this.#lines = []
    while (this.#inFlight.size >= inFlightMax) await Promise.race(this.#inFlight)
    const sending = this.#client.send('POST', this.#path, lines.join('')).then((answer) => {
      if (parsed(answer).errors) throw new Error('OpenSearch refused some of the lines')
      this.sent += lines.length
      this.#inFlight.delete(sending)
      this.#report(this.sent)
    })
    this.#inFlight.add(sending)
  }
}
