import { type Client, parsed } from './client.ts'

const linesABulk = 500
/** OpenSearch gets the next request as soon as it is done with one. */
const underWayMax = 2

/** Sends lines to an index of OpenSearch, many at a time. Throws if a line is refused. */
export class Bulks {
  sent = 0
  readonly #client: Client
  readonly #path: string
  readonly #report: (sent: number) => void
  readonly #underWay = new Set<Promise<void>>()
  #lines: string[] = []

  constructor(client: Client, index: string, report: (sent: number) => void) {
    this.#client = client
    this.#path = `/${index}/_bulk`
    this.#report = report
  }

  async add(id: string, source: string): Promise<void> {
    this.#lines.push(`{"index":{"_id":${JSON.stringify(id)}}}\n${source}\n`)
    if (this.#lines.length >= linesABulk) await this.#send()
  }

  async end(): Promise<void> {
    if (this.#lines.length > 0) await this.#send()
    await Promise.all(this.#underWay)
  }

  async #send(): Promise<void> {
    const lines = this.#lines
    this.#lines = []
    while (this.#underWay.size >= underWayMax) await Promise.race(this.#underWay)
    const sending = this.#client.send('POST', this.#path, lines.join('')).then((answer) => {
      if (parsed(answer).errors) throw new Error('OpenSearch did not take all lines')
      this.sent += lines.length
      this.#underWay.delete(sending)
      this.#report(this.sent)
    })
    this.#underWay.add(sending)
  }
}
