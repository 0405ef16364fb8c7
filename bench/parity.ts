/**
 * Whether the search index in a cluster ranks as the embedded one does: public test collections, from the same store by the
 * same feeding, asked through the HTTP API of a server over either index. Differences of nDCG@10, what the first 20 have in
 * common, and how often the first result is the same.
 *
 *   npm run with-opensearch -- npm run bench -- parity FOLDER [--only NAME,NAME] [--queries 50]
 *   npm run with-opensearch -- npm run bench -- parity --embeddings FILE|COUNT [--queries 50]
 *
 * TEST_OPENSEARCH_URL names the cluster; what this makes there is removed at the end. Stores are those of
 * `npm run bench -- relevance`. `--embeddings` measures recall of the cluster's vectors (parity/recall.ts).
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openSearchNodes, withoutOpenSearch } from '../test/support/opensearch-nodes.ts'
import { recallInCluster } from './parity/recall.ts'
import { ndcg } from './relevance/measures.ts'
import { openSet } from './relevance/open-set.ts'
import { type RelevanceSet, readSets, sampled } from './relevance/read-sets.ts'
import { progress } from './support/progress.ts'

const modes = ['keyword', 'vector', 'hybrid'] as const
type Mode = (typeof modes)[number]
/** The documents that each query found, in their order, as the set calls them. */
type Ranked = readonly (readonly string[])[]
type Rankings = Readonly<Record<Mode, Ranked>>

const depth = 20
const clients = 2
const aims = { ndcgDifference: 0.003, overlap: 0.98, sameFirst: 0.99 }

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      queries: { type: 'string', default: '100000' },
      embeddings: { type: 'string' },
    },
  })
  if (openSearchNodes === null) throw new Error(withoutOpenSearch)
  if (values.embeddings !== undefined)
    return recallInCluster(values.embeddings, openSearchNodes, Number(values.queries))
  const [folder] = positionals
  if (folder === undefined) throw new Error('npm run bench -- parity FOLDER [--only NAME,NAME] [--queries 50]')
  const only = values.only?.split(',')
  console.log(
    'nDCG@10 embedded and in the cluster, their difference, overlap@20, the same first result; ! beyond the aim',
  )
  console.log('set'.padEnd(14) + modes.map((mode) => mode.padEnd(40)).join(''))
  for (const set of readSets(folder)) {
    if (only !== undefined && !only.includes(set.name)) continue
    const asked = sampled(set, Number(values.queries))
    const embedded = await rankings(asked, {})
    const inCluster = await rankingsInCluster(asked, openSearchNodes)
    const cells = modes.map((mode) => cellOf(asked, embedded[mode], inCluster[mode], mode))
    console.log(set.name.padEnd(14) + cells.join(''))
  }
}

async function rankingsInCluster(set: RelevanceSet, nodes: readonly string[]): Promise<Rankings> {
  const prefix = `bench-${randomBytes(4).toString('hex')}`
  try {
    return await rankings(set, { TIDEMARK_SEARCH_URL: nodes.join(','), TIDEMARK_SEARCH_PREFIX: prefix })
  } finally {
    const made = (await (await fetch(`${nodes[0]}/${prefix}-*`)).json()) as object
    for (const name of Object.keys(made)) await fetch(`${nodes[0]}/${name}`, { method: 'DELETE' })
  }
}

async function rankings(set: RelevanceSet, env: Readonly<Record<string, string>>): Promise<Rankings> {
  const { server, key, idOf } = await openSet(set, env)
  const found: Record<Mode, string[][]> = { keyword: [], vector: [], hybrid: [] }
  const rest = set.queries.entries()
  const ask = async (): Promise<void> => {
    for (const [i, { text }] of rest) {
      progress(`${set.name}: query ${i + 1} of ${set.queries.length}`)
      for (const mode of modes) {
        const body = { query: text.slice(0, 1000), limit: depth, fields: ['language'] }
        const send = () => server.consumer(key, 'POST', `/v1/search/${mode}`, body)
        let answer = await send()
        // On a busy machine an answer, or a part of it, may come too late, which says nothing about the ranking.
        for (let again = 1; (answer.status === 503 || answer.body.degraded) && again < 20; again++) {
          await sleep(again * 100)
          answer = await send()
        }
        if (answer.status !== 200 || answer.body.degraded) throw new Error(`${mode} "${text}": ${answer.text}`)
        found[mode][i] = answer.body.results.map((one: { document_id: string }) => idOf.get(one.document_id)!)
      }
    }
  }
  try {
    await Promise.all(Array.from({ length: clients }, ask))
  } finally {
    progress('')
    await server.stop()
  }
  return found
}

function cellOf({ queries }: RelevanceSet, embedded: Ranked, inCluster: Ranked, mode: Mode): string {
  const mean = (of: (i: number) => number) => queries.reduce((sum, _, i) => sum + of(i), 0) / queries.length
  const [one, other] = [embedded, inCluster].map((ranked) => mean((i) => ndcg(ranked[i]!, queries[i]!.grades, 10)))
  const overlap = mean((i) => overlapOf(embedded[i]!, inCluster[i]!))
  const sameFirst = mean((i) => Number(embedded[i]![0] === inCluster[i]![0]))
  const isMissed =
    Math.abs(one! - other!) > aims.ndcgDifference ||
    sameFirst < aims.sameFirst ||
    // Vectors that are as near as others in all but the last digits may take each other's places.
    (mode === 'keyword' && overlap < aims.overlap)
  const figures = [one!, other!, Math.abs(one! - other!), overlap, sameFirst].map((figure) => figure.toFixed(4))
  return `${figures.join(' ')}${isMissed ? '!' : ' '}`.padEnd(40)
}

/** Of those that either has, how many both have. */
function overlapOf(one: readonly string[], other: readonly string[]): number {
  const both = one.filter((id) => other.includes(id)).length
  const most = Math.max(one.length, other.length)
  return most === 0 ? 1 : both / most
}
