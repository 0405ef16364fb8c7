import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../support/client.ts'
import { documentLine, vocabulary } from '../support/documents.ts'
import type { Callers } from '../support/server-process.ts'

/** Requests per second, as on an instance of medium size. */
const rates = { write: 12, keyword: 20, vector: 5, hybrid: 5, browse: 15 } as const
const documentsPerWrite = 5
const documentsPerLoad = 500
const answerTimeoutMs = 30_000
/** After this many milliseconds, a document that keyword search does not find counts as lost. */
const searchedForMs = 120_000

export type Kind = keyof typeof rates
export const kinds = Object.keys(rates) as readonly Kind[]

/** Response times in milliseconds, by kind. */
export type Answers = Readonly<Record<Kind, number[]>>
export const noAnswers = (): Answers => ({ write: [], keyword: [], vector: [], hybrid: [], browse: [] })

/**
 * Sends requests at fixed rates, whether earlier ones have been answered or not, so that a server that falls behind
 * does not get fewer. Every query is sent only once, so that each has to be embedded.
 */
export class MixedLoad {
  /** The IDs of all acknowledged documents. */
  readonly stored = new Set<string>()
  /** The number of failures by message. */
  readonly errors = new Map<string, number>()
  answered = 0
  readonly #collector: Client
  readonly #consumer: Client
  readonly #share: number
  #nextDocument = 0
  #nextQuestion = 0

  /** `share` scales the rates for a slower or busier machine. */
  constructor({ collector, consumer }: Callers, share: number) {
    this.#collector = collector
    this.#consumer = consumer
    this.#share = share
  }

  /** Sends requests for this long and records times in `answers`. Resolves when the last is answered. */
  async ask(what: 'reads' | 'all', forMs: number, answers: Answers): Promise<void> {
    const requested = kinds.filter((kind) => what === 'all' || kind !== 'write')
    const until = performance.now() + forMs
    await Promise.all(requested.map((kind) => this.#askAtRate(kind, until, answers[kind])))
  }

  /** Sends documents as fast as they are accepted. */
  async load(documents: number): Promise<void> {
    for (let left = documents; left > 0; left -= documentsPerLoad) await this.#write(Math.min(documentsPerLoad, left))
  }

  /**
   * Returns the milliseconds from the acknowledgement of one more document until keyword search finds it; infinity if
   * that takes too long.
   */
  async untilFound(): Promise<number> {
    const number = this.#nextDocument
    await this.#write(1)
    const storedMs = performance.now()
    while (performance.now() - storedMs < searchedForMs) {
      const text = await this.#send(
        this.#consumer,
        'POST',
        '/v1/search',
        question('keyword', `"Title ${number} about"`),
      )
      if (text?.includes(`"Title ${number} about `)) return performance.now() - storedMs
      await delay(100)
    }
    return Number.POSITIVE_INFINITY
  }

  async #askAtRate(kind: Kind, until: number, times: number[]): Promise<void> {
    const everyMs = 1000 / (rates[kind] * this.#share)
    const open = new Set<Promise<void>>()
    // A random start keeps the kinds from being sent at the same moments.
    for (let at = performance.now() + Math.random() * everyMs; at < until; at += everyMs) {
      await delay(Math.max(0, at - performance.now()))
      const sentMs = performance.now()
      const sent = this.#ask(kind).then((answered) => {
        if (answered) times.push(performance.now() - sentMs)
        open.delete(sent)
      })
      open.add(sent)
    }
    await Promise.all(open)
  }

  async #ask(kind: Kind): Promise<boolean> {
    if (kind === 'write') return this.#write(documentsPerWrite)
    const text = await (kind === 'browse'
      ? this.#send(this.#consumer, 'GET', `/v1/documents/browse?topics=topic-${this.#nextQuestion++ % 40}&limit=20`)
      : this.#send(this.#consumer, 'POST', '/v1/search', question(kind, this.#words())))
    if (text?.includes('"degraded":true')) this.#tally(`${kind} degraded`)
    return text !== null
  }

  async #write(documents: number): Promise<boolean> {
    const lines = Array.from({ length: documents }, () => documentLine(this.#nextDocument++))
    const text = await this.#send(this.#collector, 'POST', '/collector/v1/documents', `{"documents":[${lines.join()}]}`)
    if (text === null) return false
    for (const { document_id, outcome } of JSON.parse(text).results) {
      if (outcome === 'created') this.stored.add(document_id)
      else this.#tally(`a document is ${outcome}`)
    }
    return true
  }

  /** Returns the text of an answer. Counts an error and returns null. */
  async #send(client: Client, method: string, path: string, body?: string): Promise<string | null> {
    const waited = new AbortController()
    const timedOut = delay(
      answerTimeoutMs,
      { status: 0, text: 'no answer in time' },
      { signal: waited.signal, ref: false },
    )
    const answer = client.send(method, path, body).catch((error: Error) => ({ status: 0, text: error.message }))
    const { status, text } = await Promise.race([answer, timedOut])
    timedOut.catch(() => {})
    waited.abort()
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

  /** Three words, and a number that no other query has. */
  #words(): string {
    const number = this.#nextQuestion++
    const words = [1, 7, 31].map((step) => vocabulary[(number * step) % vocabulary.length])
    return [...words, number].join(' ')
  }
}

const question = (mode: 'keyword' | 'vector' | 'hybrid', query: string): string =>
  JSON.stringify({ mode, query, limit: 20 })
