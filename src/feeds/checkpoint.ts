import { open, readFile, rename } from 'node:fs/promises'

/** What is remembered of a feed once the server has acknowledged what came from it. */
export interface FeedState {
  readonly etag?: string
  readonly lastModified?: string
  /** Of each entry in the feed, a digest of what was stored: the same is not sent again. */
  readonly sent: Readonly<Record<string, string>>
}

/**
 * The collector's own memory, one file. It may be lost at any time: everything is then sent once more, and the server
 * finds it unchanged.
 */
export class Checkpoint {
  readonly #path: string
  readonly #feeds: Map<string, FeedState>
  #writing: Promise<void> = Promise.resolve()

  private constructor(path: string, feeds: Map<string, FeedState>) {
    this.#path = path
    this.#feeds = feeds
  }

  /** A file that is not there, or not ours, is an empty one. */
  static async load(path: string): Promise<Checkpoint> {
    let feeds: [string, FeedState][] = []
    try {
      const content = JSON.parse(await readFile(path, 'utf8')) as { feeds?: Record<string, FeedState> }
      feeds = Object.entries(content.feeds ?? {}).filter(([, state]) => typeof state?.sent === 'object')
    } catch (error) {
      if (!(error instanceof SyntaxError) && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    return new Checkpoint(path, new Map(feeds))
  }

  of(url: string): FeedState | undefined {
    return this.#feeds.get(url)
  }

  /** On disk when it resolves. The file is exchanged as a whole, so that a crash leaves the old one or the new one. */
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
