import { setTimeout as delay } from 'node:timers/promises'
import { Client, type Sent } from '../search/client.ts'
import { documentLine, vocabulary } from '../support/documents.ts'

/** A second; what a middling instance is asked for. */
const rates = { write: 12, keyword: 20, vector: 5, hybrid: 5, browse: 15 } as const
const documentsPerWrite = 5
const patienceMs = 30_000
/** How long a document is looked for that words should find. */
const lookedForMs = 120_000

export type Kind = keyof typeof rates
export const kinds = Object.keys(rates) as readonly Kind[]
const reads = kinds.filter((kind) => kind !== 'write')

/** How long answers took, by kind; milliseconds. */
export type Answers = Readonly<Record<Kind, number[]>>
export const noAnswers = (): Answers => ({ write: [], keyword: [], vector: [], hybrid: [], browse: [] })

/**
 * Asks at fixed rates, whether what was asked before has been answered or not: a server that falls behind does not get fewer
 * questions for it. Every query is asked once, so that each has to be embedded.
 */
export class MixedLoad {
  /** Every document that was acknowledged, by its id. */
  readonly stored = new Set<string>()
  /** How often each answer came that is none, by what it said. */
  readonly errors = new Map<string, number>()
  answered = 0
  readonly #collector: Client
  readonly #consumer: Client
  #nextDocument = 0
  #nextQuestion = 0

  readonly #share: number

  /** `share` of the rates: what a slower or busier machine can be asked for. */
  constructor(address: string, keys: { readonly collector: string; readonly consumer: string }, share: number) {
    this.#share = share
    this.#collector = new Client(address, keys.collector)
    this.#consumer = new Client(address, keys.consumer)
  }

  /** Of these kinds, for that long, into `answers`; resolves when the last is answered. */
  async ask(what: 'reads' | 'writes' | 'both', forMs: number, answers: Answers): Promise<void> {
    const asked = what === 'both' ? kinds : what === 'reads' ? reads : (['write'] as const)
    const until = performance.now() + forMs
    await Promise.all(asked.map((kind) => this.#askAtRate(kind, until, answers[kind])))
  }

  /** Documents as fast as they are taken, a few hundred a request. Gives the number of the last. */
  async load(documents: number): Promise<void> {
    for (let left = documents; left > 0; left -= 500) await this.#write(Math.min(500, left))
  }

  /** Milliseconds from the acknowledgement of one more document until words find it; infinite when that takes too long. */
  async untilFound(): Promise<number> {
    const number = this.#nextDocument
    await this.#write(1)
    const storedAt = performance.now()
    while (performance.now() - storedAt < lookedForMs) {
      const sent = this.#consumer.send('POST', '/v1/search', question('keyword', `"Title ${number} about"`))
      const text = await this.#count(sent)
      if (text?.includes(`"Title ${number} about `)) return performance.now() - storedAt
      await delay(100)
    }
    return Number.POSITIVE_INFINITY
  }

  async #askAtRate(kind: Kind, until: number, times: number[]): Promise<void> {
    const everyMs = 1000 / (rates[kind] * this.#share)
    const open = new Set<Promise<void>>()
    // Kinds do not fall on the same moment.
    for (let at = performance.now() + Math.random() * everyMs; at < until; at += everyMs) {
      await delay(Math.max(0, at - performance.now()))
      const sentAt = performance.now()
      const asked = this.#ask(kind).then((answered) => {
        if (answered) times.push(performance.now() - sentAt)
        open.delete(asked)
      })
      open.add(asked)
    }
    await Promise.all(open)
  }

  async #ask(kind: Kind): Promise<boolean> {
    if (kind === 'write') return this.#write(documentsPerWrite)
    const sent =
      kind === 'browse'
        ? this.#consumer.send('GET', `/v1/documents/browse?topics=topic-${this.#nextQuestion++ % 40}&limit=20`)
        : this.#consumer.send('POST', '/v1/search', question(kind, this.#words()))
    const text = await this.#count(sent)
    if (text?.includes('"degraded":true')) this.#tally(`${kind} degraded`)
    return text !== null
  }

  async #write(documents: number): Promise<boolean> {
    const lines = Array.from({ length: documents }, () => documentLine(this.#nextDocument++))
    const text = await this.#count(
      this.#collector.send('POST', '/collector/v1/documents', `{"documents":[${lines.join()}]}`),
    )
    if (text === null) return false
    for (const { document_id, outcome } of JSON.parse(text).results) {
      if (outcome === 'created') this.stored.add(document_id)
      else this.#tally(`a document is ${outcome}`)
    }
    return true
  }

  /** The text of an answer; null of one that is an error, which is counted. */
  async #count(sent: Promise<Sent>): Promise<string | null> {
    const waited = new AbortController()
    const givenUp = delay(patienceMs, { status: 0, text: 'no answer in time' }, { signal: waited.signal, ref: false })
    const answer = sent.catch((error: Error) => ({ status: 0, text: error.message }))
    const { status, text } = await Promise.race([answer, givenUp])
    waited.abort()
    givenUp.catch(() => {})
    if (status >= 200 && status < 300) {
      this.answered++
      return text
    }
    this.#tally(status === 0 ? text : `${status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`)
    return null
  }

  #tally(what: string): void {
    this.errors.set(what, (this.errors.get(what) ?? 0) + 1)
  }

  /** Three words and a number that no other question has. */
  #words(): string {
    const number = this.#nextQuestion++
    return [1, 7, 31]
      .map((step) => vocabulary[(number * step) % vocabulary.length])
      .concat(String(number))
      .join(' ')
  }

  close(): void {
    this.#collector.close()
    this.#consumer.close()
  }
}

const question = (mode: 'keyword' | 'vector' | 'hybrid', query: string): string =>
  JSON.stringify({ mode, query, limit: 20 })
