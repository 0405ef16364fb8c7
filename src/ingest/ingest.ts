import type { ContentStore, IncomingDocument, IngestResult } from './content-store.ts'

/**
 * The most documents in one transaction: enough to share the cost of a disk write, and few enough not to delay others.
 */
const transactionDocumentsMax = 500
const transactionCharactersMax = 8_000_000

interface Waiting {
  readonly documents: readonly IncomingDocument[]
  readonly characters: number
  readonly resolve: (results: readonly IngestResult[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Writes documents durably. Requests that arrive while a transaction is being written share the next one (group
 * commit), so that many small senders cost the disk no more than one large one.
 */
export class Ingest {
  #store: ContentStore
  #written: () => void
  #waiting: Waiting[] = []
  #writing: Promise<void> | null = null

  /** `written` is called after each transaction that may have added events. */
  constructor(store: ContentStore, written: () => void) {
    this.#store = store
    this.#written = written
  }

  /** Resolves when the documents are on disk. One transaction takes at most `transactionDocumentsMax`. */
  async submit(documents: readonly IncomingDocument[]): Promise<readonly IngestResult[]> {
    const results: IngestResult[] = []
    for (const part of portions(documents)) {
      results.push(
        ...(await new Promise<readonly IngestResult[]>((resolve, reject) => {
          this.#waiting.push({ ...part, resolve, reject })
          this.#writing ??= this.#writeWaiting()
        })),
      )
    }
    return results
  }

  /** Resolves when nothing is waiting or being written. */
  async idle(): Promise<void> {
    while (this.#writing !== null) await this.#writing
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#nextGroup()
      try {
        const results = await this.#store.ingest(
          group.flatMap(({ documents }) => documents),
          Date.now(),
        )
        let from = 0
        for (const { documents, resolve } of group) {
          resolve(results.slice(from, from + documents.length))
          from += documents.length
        }
        this.#written()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#writing = null
  }

  #nextGroup(): Waiting[] {
    const group: Waiting[] = []
    let documents = 0
    let characters = 0
    while (this.#waiting.length > 0) {
      const next = this.#waiting[0]!
      documents += next.documents.length
      characters += next.characters
      if (group.length > 0 && (documents > transactionDocumentsMax || characters > transactionCharactersMax)) break
      group.push(this.#waiting.shift()!)
    }
    return group
  }
}

function portions(
  documents: readonly IncomingDocument[],
): { documents: readonly IncomingDocument[]; characters: number }[] {
  const parts: { documents: IncomingDocument[]; characters: number }[] = []
  for (const document of documents) {
    const characters = (document.body?.length ?? 0) + (document.title?.length ?? 0)
    const last = parts.at(-1)
    if (
      last === undefined ||
      last.documents.length >= transactionDocumentsMax ||
      last.characters + characters > transactionCharactersMax
    ) {
      parts.push({ documents: [document], characters })
    } else {
      last.documents.push(document)
      last.characters += characters
    }
  }
  return parts
}
