import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Checkpoint, type FeedState } from './checkpoint.ts'
import { CollectorClient } from './collector-client.ts'
import { FeedReader } from './feed-reader.ts'
import type { Feed, FeedsConfig } from './feeds-file.ts'
import type { FeedDocument } from './parse-entries.ts'
import { serveTasks } from './serve-tasks.ts'

/** The most documents in one request. */
const batchMax = 100
/** How long to retry while the server restarts. After that the error is reported. */
const retryForMs = 60_000

export interface CollectMode {
  /** Reads every feed once and ends. Otherwise rounds follow until aborted. */
  readonly once: boolean
  /** Also works on live tasks. */
  readonly serve: boolean
}

export interface RoundResult {
  readonly failed: number
  readonly refused: number
}

/** Collects feeds until done or aborted. `say` is called with one line for each event. */
export async function collectFeeds(
  config: FeedsConfig,
  mode: CollectMode,
  say: (line: string) => void,
  aborted: AbortSignal,
): Promise<RoundResult> {
  const checkpoint = await Checkpoint.load(config.checkpoint)
  const client = new CollectorClient({ server: config.server, key: config.key, aborted, retryForMs, say })
  const reader = new FeedReader(config)
  const round = () => collectRound(config, { checkpoint, client, reader }, say, aborted)
  if (mode.once) return round()
  const rounds = async (): Promise<RoundResult> => {
    for (;;) {
      const result = await round()
      if (aborted.aborted) return result
      await sleep(config.everyMs, undefined, { signal: aborted }).catch(() => {})
      if (aborted.aborted) return result
    }
  }
  const [result] = await Promise.all([rounds(), mode.serve ? serveTasks(config, client, reader, say, aborted) : null])
  return result
}

interface Parts {
  readonly checkpoint: Checkpoint
  readonly client: CollectorClient
  readonly reader: FeedReader
}

/** Collects every feed, a few at once. A feed that fails does not hold up the others. */
async function collectRound(
  config: FeedsConfig,
  parts: Parts,
  say: (line: string) => void,
  aborted: AbortSignal,
): Promise<RoundResult> {
  const waiting = [...config.feeds]
  const totals = { feeds: 0, failed: 0, unchanged: 0, refused: 0, documents: 0 }
  const work = async (): Promise<void> => {
    for (let feed = waiting.shift(); feed !== undefined && !aborted.aborted; feed = waiting.shift()) {
      const result = await collectFeed(feed, config, parts, aborted).catch((error: unknown): FeedResult => {
        return { line: `failed: ${(error as Error).message}`, failed: true, stored: 0, refused: 0 }
      })
      if (aborted.aborted) return
      totals.feeds++
      totals.documents += result.stored
      totals.refused += result.refused
      if (result.failed) totals.failed++
      say(`${feed.url}: ${result.line}`)
    }
  }
  await Promise.all(Array.from({ length: config.feedsAtOnce }, work))
  if (aborted.aborted) say('stopped: acknowledged documents are kept, the rest is sent by the next run')
  else {
    say(
      `${totals.feeds} feeds: ${totals.documents} documents sent, ${totals.refused} refused, ${totals.failed} feeds failed`,
    )
  }
  return { failed: totals.failed, refused: totals.refused }
}

interface FeedResult {
  readonly line: string
  readonly failed: boolean
  readonly stored: number
  readonly refused: number
}

/**
 * Reads a feed, sends its new entries, and only then saves the state: a crash in between repeats work but loses no
 * document.
 */
async function collectFeed(
  feed: Feed,
  { dataset, platform }: FeedsConfig,
  { checkpoint, client, reader }: Parts,
  aborted: AbortSignal,
): Promise<FeedResult> {
  const known = checkpoint.of(feed.url)
  const read = await reader.read(feed, known ?? {}, aborted)
  if (read.kind === 'unchanged') return { line: 'not modified', failed: false, stored: 0, refused: 0 }
  if (read.kind === 'failed') {
    return { line: `refused (${read.reason}): ${read.message}`, failed: true, stored: 0, refused: 0 }
  }
  const sent: Record<string, string> = {}
  const fresh: { document: FeedDocument; digest: string }[] = []
  for (const document of read.entries) {
    const digest = digestOf({ dataset, platform, ...document })
    if (known?.sent[document.external_id] === digest) sent[document.external_id] = digest
    else fresh.push({ document, digest })
  }
  const outcomes = new Map<string, number>()
  let refused = 0
  let reason: string | null = null
  for (let from = 0; from < fresh.length; from += batchMax) {
    const part = fresh.slice(from, from + batchMax)
    const results = await client.sendDocuments(
      part.map(({ document }) => ({ dataset_id: dataset, source_platform: platform, ...document })),
    )
    for (const [i, { outcome, error }] of results.entries()) {
      const { document, digest } = part[i]!
      if (error === undefined) {
        sent[document.external_id] = digest
        outcomes.set(outcome!, (outcomes.get(outcome!) ?? 0) + 1)
      } else {
        refused++
        reason ??= error.message
      }
    }
  }
  // If any document was refused, the feed is read again next time, because the reason may be gone by then.
  const state: FeedState = {
    ...(read.etag === undefined || refused > 0 ? {} : { etag: read.etag }),
    ...(read.lastModified === undefined || refused > 0 ? {} : { lastModified: read.lastModified }),
    sent,
  }
  await checkpoint.save(feed.url, state)
  const words = [...outcomes].map(([outcome, count]) => `${count} ${outcome.replace('_', ' ')}`)
  const line = [`${read.entries.length} entries`, ...words, ...(refused > 0 ? [`${refused} refused: ${reason}`] : [])]
  return { line: line.join(', '), failed: false, stored: fresh.length - refused, refused }
}

const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 22)
