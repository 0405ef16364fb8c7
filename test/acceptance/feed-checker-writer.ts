import { setTimeout as delay } from 'node:timers/promises'
import { documentOf, OpenRequest, path, type Sent } from './content.ts'
import { changedIn, languages, regions, years } from './feed-checker-entitlements.ts'
import type { Acknowledged } from './feed-checker-verify.ts'
import type { TestServer } from './harness.ts'

/** The pause before another request to a server that is down, because requests take processor time from its start. */
export const restMs = 100

/** The same choices in every run with the same seed. */
export function chance(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const factOf = (label_code: string) => ({ kind: 'category', level: 'document', metadata: { label_code } })

interface Written {
  readonly externalId: string
  body: string
  score: number
  /** The other fields: tags, status, author, language and so on. */
  rest: Sent
  documentId: string
  versionId: string
}

/**
 * One collector with its own documents. It sends batches of 1 to 300 new and changed documents, as JSON or as a slow
 * stream of lines. Documents without an acknowledgement, because the server went away, are sent again until they have
 * one. Now and then it erases one of its documents.
 */
export class Writer {
  readonly documents: Written[] = []
  readonly acknowledged: Acknowledged[] = []
  /** All states of each document in order, including erased documents. */
  readonly states = new Map<string, Sent[]>()
  /** The number of documents acknowledged as changed. Each made at least one event. */
  changed = 0
  sentAgain = 0
  erased = 0
  #server: () => TestServer
  #key: string
  #name: string
  #random: (below: number) => number

  /** `server` returns the process for each request. */
  constructor(server: () => TestServer, key: string, name: string, seed: number) {
    this.#server = server
    this.#key = key
    this.#name = name
    this.#random = chance(seed)
  }

  /** Sends one batch until all its documents are acknowledged. */
  async write(): Promise<void> {
    for (let left = this.#random(4); left > 0 && this.documents.length > 0; left--) await this.#eraseOne()
    const size = this.#random(4) === 0 ? 1 + this.#random(8) : 1 + this.#random(300)
    const batch = new Map<string, Written>()
    while (batch.size < size) {
      const one = this.#choose()
      batch.set(one.externalId, one)
    }
    let left = [...batch.values()]
    const asLines = this.#random(3) === 0
    while (left.length > 0) {
      const answered = await (asLines ? this.#sendLines(left) : this.#sendBatch(left))
      if (answered < left.length) this.sentAgain++
      left = left.slice(answered)
      if (left.length > 0) await delay(restMs)
    }
  }

  /** Erases one of its documents for good. It is not sent again. */
  async #eraseOne(): Promise<void> {
    const [one] = this.documents.splice(this.#random(this.documents.length), 1)
    for (;;) {
      const status = await this.#server()
        .admin('DELETE', `/admin/v1/documents/${one!.documentId}`)
        .then((answer) => answer.status)
        .catch(() => null)
      if (status === 202 || status === 404) break
      if (status !== null && status < 500) throw new Error(`an erasure was answered ${status}`)
      await delay(restMs)
    }
    this.changed++
    this.erased++
  }

  #choose(): Written {
    const known = this.documents.length
    if (known > 0 && this.#random(3) === 0) {
      const one = this.documents[this.#random(known)]!
      const what = this.#random(12)
      if (what === 0 || what === 2) one.body = `Body ${this.#random(1_000_000)} of ${one.externalId}`
      if (what === 1 || what === 2) one.score++
      if (what === 4) one.rest = { ...one.rest, tags: [`t${this.#random(9)}`, `t${this.#random(9)}`] }
      if (what === 5) one.rest = { ...one.rest, status: this.#random(2) === 0 ? 'active' : 'unavailable' }
      if (what === 6) one.rest = { ...one.rest, author: { external_author_id: `u${this.#random(9)}` } }
      if (what === 7 || what === 8) one.rest = { ...one.rest, ...this.#place() }
      if (what === 8) one.body = `Body ${this.#random(1_000_000)} of ${one.externalId}`
      if (what === 9)
        one.rest = { ...one.rest, facts: [factOf(`c${this.#random(3)}`)], topics: [`p${this.#random(3)}`] }
      if (what === 10) one.rest = { ...one.rest, quality: this.#random(9) / 10 }
      if (what === 11) {
        one.score++
        one.rest = { ...one.rest, tags: [`t${this.#random(9)}`] }
      }
      return one
    }
    const externalId = `${this.#name}-${known + this.erased}`
    const one = {
      externalId,
      body: `Body of ${externalId}`,
      score: 0,
      rest: this.#place(),
      documentId: '',
      versionId: '',
    }
    this.documents.push(one)
    return one
  }

  /** The values that decide who may read the document. Some are sometimes absent. */
  #place(): Sent {
    const place: Record<string, string | undefined> = {
      language: languages[this.#random(languages.length + 1)],
      region: regions[this.#random(regions.length + 1)],
      published_at: years[this.#random(years.length + 1)],
    }
    return Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined))
  }

  /** A document that was sent again unchanged has no new state. */
  #remember(documentId: string, sent: Sent): void {
    const states = this.states.get(documentId) ?? []
    if (changedIn(states.at(-1) ?? null, sent).length > 0) states.push(sent)
    this.states.set(documentId, states)
  }

  #document({ externalId, body, score, rest }: Written): Sent {
    // Half of the documents are in each of two datasets, so that filtered readers have something to skip.
    const dataset_id = externalId.length % 2 === 0 ? 'even' : 'odd'
    return documentOf(externalId, { dataset_id, source_platform: this.#name, body, score, ...rest })
  }

  /** Returns how many documents were acknowledged, from the first one on. */
  async #sendBatch(batch: readonly Written[]): Promise<number> {
    const server = this.#server()
    try {
      const documents = batch.map((one) => this.#document(one))
      const answer = await server.collector(this.#key, 'POST', path, { documents })
      if (answer.status >= 500) return 0
      return this.#take(batch, answer.text)
    } catch {
      return 0
    }
  }

  async #sendLines(batch: readonly Written[]): Promise<number> {
    const request = new OpenRequest(this.#server(), this.#key)
    try {
      for (let from = 0; from < batch.length; from += 40) {
        const lines = batch.slice(from, from + 40).map((one) => `${JSON.stringify(this.#document(one))}\n`)
        await request.write(lines.join(''))
        await delay(this.#random(30))
      }
      request.end()
      await request.ended
    } catch {
      // Documents that were answered before the connection broke are acknowledged.
      request.abort()
    }
    return this.#take(batch, request.text)
  }

  #take(batch: readonly Written[], answer: string): number {
    let taken = 0
    for (const match of answer.matchAll(
      /\{"index":(\d+),"document_id":"(\w+)","version_id":"(\w+)","outcome":"(\w+)"\}/g,
    )) {
      const [, index, documentId, versionId, outcome] = match as unknown as [string, string, string, string, string]
      if (Number(index) !== taken) throw new Error(`result ${index} where ${taken} was due`)
      const one = batch[taken++]!
      if (one.documentId !== '' && one.documentId !== documentId) {
        throw new Error(`${one.externalId} was ${one.documentId} and is ${documentId}`)
      }
      if (outcome !== 'unchanged') this.changed++
      one.documentId = documentId
      one.versionId = versionId
      this.acknowledged.push({ documentId, versionId })
      this.#remember(documentId, this.#document(one))
    }
    const refused = /"error":\{[^}]*\}/.exec(answer)
    if (refused !== null && !refused[0].includes('not_stored')) throw new Error(refused[0])
    return taken
  }
}
