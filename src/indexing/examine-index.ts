import { setTimeout } from 'node:timers/promises'
import type { Finding } from '../operator/examine.ts'
import type { IndexHome } from './index-home.ts'
import type { Backlog, IndexSource } from './index-source.ts'
import { vectorPace } from './vector-rate.ts'

/**
 * How long the backlog of vectors is watched. Vectors are made in batches of 32, about 12 a second on a small machine.
 */
const watchMs = 5_000

/**
 * Reports what an operator should know about the search index, without opening it. If vectors are missing, it reads the
 * backlog again after a `pause`, which returns its length in milliseconds, to see how fast a server makes them.
 */
export async function examineIndex(
  source: IndexSource,
  home: IndexHome,
  pause: () => Promise<number> = watch,
): Promise<readonly Finding[]> {
  const index = await home.inspect()
  const chunks = await source.chunkCount()
  // Read after the number of chunks: if the backlog is empty, nothing has arrived since the index was inspected.
  const backlog = await source.backlog(index?.position ?? 0)
  const size = `${index?.chunks ?? 0} chunks, ${mebibytes(index?.bytes ?? 0)} MiB on disk`
  const findings: Finding[] = []
  if (index === null) {
    findings.push({ state: 'ok', about: 'no search index yet: tidemark serve creates it', advice: null })
  } else if (backlog.documents === 0 && index.chunks !== chunks) {
    const about = `search index: ${size}; the store has ${chunks} chunks, though the index should have all of them`
    const advice = 'run tidemark reindex: it rebuilds the index while the old one is served'
    findings.push({ state: 'warning', about, advice })
  } else if (backlog.documents + backlog.waitingVectors === 0) {
    findings.push({ state: 'ok', about: `search index: ${size}, up to date`, advice: null })
  } else {
    const advice = 'a running server catches up by itself; if the number stays, see its log and GET /admin/v1/indexing'
    const behind = [
      ...(backlog.documents === 0 ? [] : [`${backlog.documents} documents behind`]),
      ...(backlog.waitingVectors === 0
        ? []
        : [`${backlog.waitingVectors} vectors behind`, await paceOf(source, index.position, backlog, pause)]),
    ]
    const about = `search index: ${[size, ...behind].join('; ')}`
    findings.push({ state: 'warning', about, advice })
  }
  findings.push(...(index?.findings ?? []))
  for (const { version, bytes } of await home.otherVersions()) {
    const about = `the search index of ${version === null ? 'an earlier version' : `version ${version}`} takes ${mebibytes(bytes)} MiB`
    const when =
      home.fedBy === 'each'
        ? 'once its own index is complete'
        : '10 minutes after the last process of that version ends'
    findings.push({
      state: 'warning',
      about,
      advice: `nothing to do during an upgrade: a server of this version removes it ${when}`,
    })
  }
  if (chunks > home.chunksComfortable) {
    const about = `${chunks} chunks are more than one node searches comfortably`
    findings.push({ state: 'warning', about, advice: 'plan the move to an index server' })
  }
  return findings
}

/** Findings about chunks that will get no vector. */
export async function examineVectors(source: Pick<IndexSource, 'vectorGaps'>): Promise<readonly Finding[]> {
  const gaps = await source.vectorGaps()
  const findings: Finding[] = []
  if (gaps.lost > 0) {
    const about = `${gaps.lost} chunks have no vector and are not queued for one: only keyword search finds them`
    const advice = 'tidemark serve queues them again when it starts; if the number stays, run tidemark reindex'
    findings.push({ state: 'warning', about, advice })
  }
  if (gaps.refused > 0) {
    const about = `${gaps.refused} chunks have texts that the embedding model refuses: only keyword search finds them`
    const advice = "the server's log says which; once the model accepts them, tidemark reindex tries them again"
    findings.push({ state: 'warning', about, advice })
  }
  return findings
}

/** How fast the backlog of vectors shrinks, and how long the rest will take. */
async function paceOf(
  source: IndexSource,
  position: number,
  { waitingVectors }: Backlog,
  pause: () => Promise<number>,
): Promise<string> {
  const seconds = (await pause()) / 1000
  const left = (await source.backlog(position)).waitingVectors
  const perSecond = (waitingVectors - left) / seconds
  if (perSecond > 0) return vectorPace(left, perSecond)
  return left === waitingVectors
    ? `no vector was computed in ${Math.round(seconds)} s`
    : 'texts arrive faster than vectors are computed'
}

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20)

async function watch(): Promise<number> {
  const startedAt = performance.now()
  await setTimeout(watchMs)
  return performance.now() - startedAt
}
