import { setTimeout as sleep } from 'node:timers/promises'
import { type CollectorClient, RefusedByServer, type Task } from './collector-client.ts'
import type { FeedContent, FeedReader } from './feed-reader.ts'
import type { Feed, FeedsConfig } from './feeds-file.ts'
import { matchEntries } from './match-entries.ts'
import type { FeedDocument } from './parse-entries.ts'

const batchMax = 100
/** Tasks that arrive this close together share the fetched entries. */
const freshForMs = 20_000
const pauseAfterFailureMs = 5000

interface Kept extends FeedContent {
  readonly at: number
}

/**
 * Leases tasks one at a time, and delivers fresh entries of all feeds that match the query. If the process ends during
 * a task, its lease expires and another collector gets it.
 */
export async function serveTasks(
  config: FeedsConfig,
  client: CollectorClient,
  reader: FeedReader,
  say: (line: string) => void,
  aborted: AbortSignal,
): Promise<void> {
  const kept = new Map<string, Kept>()
  while (!aborted.aborted) {
    try {
      const [task] = await client.lease(config.platform, config.leaseSeconds)
      if (task === undefined) await sleep(config.pollMs, undefined, { signal: aborted })
      else say(`task ${task.task_id}: ${await serveTask(task, config, client, reader, kept, aborted)}`)
    } catch (error) {
      if (aborted.aborted) return
      say(`tasks: ${(error as Error).message}`)
      await sleep(pauseAfterFailureMs, undefined, { signal: aborted }).catch(() => {})
    }
  }
}

async function serveTask(
  task: Task,
  config: FeedsConfig,
  client: CollectorClient,
  reader: FeedReader,
  kept: Map<string, Kept>,
  aborted: AbortSignal,
): Promise<string> {
  // Work under a lost lease is useless.
  const lost = new AbortController()
  const either = AbortSignal.any([aborted, lost.signal])
  const heartbeat = setInterval(
    () => {
      client.heartbeat(task, config.leaseSeconds).catch((error) => {
        if (error instanceof RefusedByServer) lost.abort(error)
      })
    },
    (config.leaseSeconds * 1000) / 3,
  )
  try {
    if (task.dataset_id !== config.dataset) {
      await client.complete(task, 'failed', `This collector fills ${config.dataset}, not ${task.dataset_id}.`)
      return `failed: it is for dataset ${task.dataset_id}; bind the collector's key to ${config.dataset}`
    }
    const { entries, failures } = await freshEntries(config, reader, kept, either)
    if (failures === config.feeds.length) {
      await client.complete(task, 'failed', 'None of the feeds could be read.')
      return 'failed: none of the feeds could be read'
    }
    const chosen = matchEntries(entries, task.query).slice(0, task.max_items)
    for (let from = 0; from < chosen.length; from += batchMax) {
      await client.deliver(task, chosen.slice(from, from + batchMax))
    }
    await client.complete(task, 'succeeded')
    return `${chosen.length} of ${entries.length} fresh entries delivered`
  } catch (error) {
    const reason = lost.signal.aborted ? lost.signal.reason : error
    if (reason instanceof RefusedByServer) return `abandoned: ${reason.message}`
    throw reason
  } finally {
    clearInterval(heartbeat)
  }
}

/** The current entries of all feeds. A feed that answers "not modified" keeps its known entries. */
async function freshEntries(
  config: FeedsConfig,
  reader: FeedReader,
  kept: Map<string, Kept>,
  aborted: AbortSignal,
): Promise<{ entries: FeedDocument[]; failures: number }> {
  let failures = 0
  const waiting = [...config.feeds]
  const work = async (): Promise<void> => {
    for (let feed = waiting.shift(); feed !== undefined; feed = waiting.shift()) {
      if (!(await refresh(feed, reader, kept, aborted))) failures++
    }
  }
  await Promise.all(Array.from({ length: config.feedsAtOnce }, work))
  const entries = new Map<string, FeedDocument>()
  for (const { url } of config.feeds) {
    for (const entry of kept.get(url)?.entries ?? []) {
      if (!entries.has(entry.external_id)) entries.set(entry.external_id, entry)
    }
  }
  return { entries: [...entries.values()], failures }
}

async function refresh(
  feed: Feed,
  reader: FeedReader,
  kept: Map<string, Kept>,
  aborted: AbortSignal,
): Promise<boolean> {
  const had = kept.get(feed.url)
  if (had !== undefined && Date.now() - had.at < freshForMs) return true
  const read = await reader.read(feed, had ?? {}, aborted)
  if (read.kind === 'failed') return false
  if (read.kind === 'read') kept.set(feed.url, { ...read, at: Date.now() })
  else if (had !== undefined) kept.set(feed.url, { ...had, at: Date.now() })
  return true
}
