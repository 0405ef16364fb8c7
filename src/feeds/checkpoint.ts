import { open, rename } from 'node:fs/promises'
import { readRegularText } from '../platform/regular-file.ts'

/** The state of a feed, saved once the server has acknowledged its entries. */
export interface FeedState {
  readonly etag?: string
  readonly lastModified?: string
  /** The digest of each entry that was sent. An entry with an unchanged digest is not sent again. */
  readonly sent: Readonly<Record<string, string>>
}

/**
 * The collector's own state, in one file. Losing it is harmless: everything is sent once more, and the server finds it
 * unchanged.
 */
export class Checkpoint {
  readonly #path: string
  readonly #feeds: Map<string, FeedState>
  #writing: Promise<void> = Promise.resolve()

  private constructor(path: string, feeds: Map<string, FeedState>) {
    this.#path = path
    this.#feeds = feeds
  }

  /** A file that is missing, or not a checkpoint, counts as an empty one. */
  static async load(path: string): Promise<Checkpoint> {
    let feeds: [string, FeedState][] = []
    try {
      const content = JSON.parse(await readRegularText(path)) as { feeds?: Record<string, FeedState> }
      feeds = Object.entries(content.feeds ?? {}).filter(([, state]) => typeof state?.sent === 'object')
    } catch (error) {
      if (!(error instanceof SyntaxError) && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    return new Checkpoint(path, new Map(feeds))
  }

  of(url: string): FeedState | undefined {
    return this.#feeds.get(url)
  }

  /** Resolves once it is on disk. The file is replaced as a whole, so a crash leaves either the old or the new one. */
  save(url: string, state: FeedState): Promise<void> {
    this.#feeds.set(url, state)
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    const beside = `${this.#path}.new`
    const file = await open(beside, 'w', 0o600)
    try {
      await file.writeFile(JSON.stringify({ feeds: Object.fromEntries(this.#feeds) }))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(beside, this.#path)
  }
}
