import { setTimeout as delay } from 'node:timers/promises'
import { documentOf, OpenRequest, path, type Sent } from './content.ts'
import type { Acknowledged } from './feed-checker-verify.ts'
import type { TestServer } from './harness.ts'

/** Before asking a server again that is away: to ask takes processor time from its start. */
export const restMs = 100

/** The same choices in every run of the same seed. */
export function chance(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

interface Written {
  readonly externalId: string
  body: string
  score: number
  /** What else it says of itself: tags, status, author. */
  rest: Sent
  documentId: string
  versionId: string
}

/**
 * One collector with documents of its own. It sends batches of 1 to 300, new documents and changed ones mixed, as JSON
 * or as a slow stream of lines; what is not acknowledged because the server went away it sends again until it is. Now and
 * then one of its documents is erased.
 */
export class Writer {
  readonly documents: Written[] = []
  readonly acknowledged: Acknowledged[] = []
  /** Documents that were acknowledged as changed: each made an event at least. */
  changed = 0
  sentAgain = 0
  erased = 0
  #server: () => TestServer
  #key: string
  #name: string
  #random: (below: number) => number

  /** `server` gives the process to speak to, each time it is asked. */
  constructor(server: () => TestServer, key: string, name: string, seed: number) {
    this.#server = server
    this.#key = key
    this.#name = name
    this.#random = chance(seed)
  }

  /** One batch, acknowledged to its last document. */
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

  /** One document that is there, for good: it is not sent again. */
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
      const what = this.#random(7)
      if (what === 0 || what === 2) one.body = `Body ${this.#random(1_000_000)} of ${one.externalId}`
      if (what === 1 || what === 2) one.score++
      if (what === 4) one.rest = { ...one.rest, tags: [`t${this.#random(9)}`, `t${this.#random(9)}`] }
      if (what === 5) one.rest = { ...one.rest, status: this.#random(2) === 0 ? 'active' : 'unavailable' }
      if (what === 6) one.rest = { ...one.rest, author: { external_author_id: `u${this.#random(9)}` } }
      return one
    }
    const externalId = `${this.#name}-${known + this.erased}`
    const one = { externalId, body: `Body of ${externalId}`, score: 0, rest: {}, documentId: '', versionId: '' }
    this.documents.push(one)
    return one
  }

  #document({ externalId, body, score, rest }: Written): Sent {
    // Half of the documents in each of two datasets, so that filtered readers have something to skip.
    const dataset_id = externalId.length % 2 === 0 ? 'even' : 'odd'
    return documentOf(externalId, { dataset_id, source_platform: this.#name, body, score, ...rest })
  }

  /** How many were acknowledged, from the first on. */
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
      // What was answered before the connection broke is acknowledged all the same.
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
    }
    const refused = /"error":\{[^}]*\}/.exec(answer)
    if (refused !== null && !refused[0].includes('not_stored')) throw new Error(refused[0])
    return taken
  }
}
