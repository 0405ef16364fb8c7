/**
 * Measures the quality of the ranking: nDCG@10 and recall@100 of keyword, vector and hybrid search in public test
 * collections, through the HTTP API of a real server with the built-in models.
 *
 *   npm run bench -- relevance FOLDER [--only NAME,NAME] [--queries 50] [--directions 300] [--model NAME]
 *
 * FOLDER has one folder for each collection, with `documents.jsonl` (id, language, title, text), `queries.jsonl` (id,
 * text) and `qrels.tsv` (query, document, grade). Each has a server of its own, so that document frequencies are those
 * of the collection. Stores with their vectors are kept in the system's folder for temporary files. `--queries` limits
 * the queries of each set to a sample spread over it. Sets of one family (`xquad-en`, `xquad-zh`) are also searched
 * with each other's queries; `--directions` limits these, and 0 means none. `--model` is TIDEMARK_EMBEDDING_MODEL.
 */
import { parseArgs } from 'node:util'
import type { TestServer } from '../test/acceptance/harness.ts'
import { ndcg, recall } from './relevance/measures.ts'
import { directionsTo, type RelevanceSet, readSets, sampled } from './relevance/read-sets.ts'
import { serveCollection } from './relevance/serve-collection.ts'
import { type Mode, modes } from './support/ask.ts'
import { progress } from './support/progress.ts'
import { median } from './support/times.ts'

type Figures = Readonly<Record<Mode, { readonly ndcg: number; readonly recall: number; readonly p50Ms: number }>>

/**
 * The nDCG@10 to reach, chosen before the ranking was tuned. For keyword search: plain BM25 over stems on the same
 * files.
 */
const aims: Readonly<Record<string, Partial<Record<Mode, number>>>> = {
  cacm: { keyword: 0.484, hybrid: 0.56 },
  cranfield: { keyword: 0.385, hybrid: 0.43 },
  'xquad-ar': { keyword: 0.885, vector: 0.9 },
  'xquad-de': { keyword: 0.915, vector: 0.93 },
  'xquad-en': { keyword: 0.959, hybrid: 0.98 },
  'xquad-es': { keyword: 0.949, vector: 0.94 },
  'xquad-zh': { keyword: 0.961, vector: 0.93 },
  'xquad pooled': { keyword: 0.94 },
  'en to es': { vector: 0.92 },
  'en to zh': { vector: 0.8 },
  'zh to en': { vector: 0.78 },
}
/** Hybrid search may be this much worse than the better of its branches. */
const belowBranchesMax = 0.005

const clients = 4

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      queries: { type: 'string', default: '100000' },
      directions: { type: 'string', default: '300' },
      model: { type: 'string', default: '' },
    },
  })
  const [folder] = positionals
  if (folder === undefined) throw new Error('npm run bench -- relevance FOLDER [--only NAME,NAME] [--queries 50]')
  const only = values.only?.split(',')
  const rows: string[] = []
  const sets = readSets(folder)
  for (const set of sets) {
    if (only !== undefined && !only.includes(set.name)) continue
    const { server, key, idOf } = await serveCollection(set, { TIDEMARK_EMBEDDING_MODEL: values.model })
    const pairs = [
      sampled(set, Number(values.queries)),
      ...(values.directions === '0' ? [] : directionsTo(set, sets)).map((one) =>
        sampled(one, Number(values.directions)),
      ),
    ]
    for (const one of pairs) {
      rows.push(rowOf(one, await measure(one, server, key, idOf)))
      console.log(rows.at(-1))
    }
    await server.stop()
  }
  console.log(`\nnDCG@10 with the grade as gain, as trec_eval counts it; recall@100; p50 of a request over HTTP\n`)
  console.log([heading, ...rows].join('\n'))
}

async function measure(
  set: RelevanceSet,
  server: TestServer,
  key: string,
  idOf: ReadonlyMap<string, string>,
): Promise<Figures> {
  const sums = { keyword: [0, 0], vector: [0, 0], hybrid: [0, 0] } as Record<Mode, [number, number]>
  const times: Record<Mode, number[]> = { keyword: [], vector: [], hybrid: [] }
  const rest = set.queries.entries()
  const ask = async (): Promise<void> => {
    for (const [i, { text, grades }] of rest) {
      progress(`${set.name}: query ${i + 1} of ${set.queries.length}`)
      for (const mode of modes) {
        const body = { query: text.slice(0, 1000), limit: 100, fields: ['language'] }
        const send = () => server.consumer(key, 'POST', `/v1/search/${mode}`, body)
        const startedMs = performance.now()
        let answer = await send()
        times[mode].push(performance.now() - startedMs)
        // On a busy machine an embedding may come too late, which says nothing about the ranking.
        for (let again = 0; answer.body.degraded && again < 5; again++) answer = await send()
        if (answer.status !== 200 || answer.body.degraded) throw new Error(`${mode} "${text}": ${answer.text}`)
        const ranked = answer.body.results.map((one: { document_id: string }) => idOf.get(one.document_id)!)
        sums[mode][0] += ndcg(ranked, grades, 10)
        sums[mode][1] += recall(ranked, grades, 100)
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, ask))
  progress('')
  const figures = (mode: Mode) => ({
    ndcg: sums[mode][0] / set.queries.length,
    recall: sums[mode][1] / set.queries.length,
    p50Ms: median(times[mode]),
  })
  return { keyword: figures('keyword'), vector: figures('vector'), hybrid: figures('hybrid') }
}

const columns = '   nDCG    aim    R@100    ms'
const heading = [
  ' '.repeat(14) + modes.map((mode) => `   ${mode}`.padEnd(columns.length)).join(''),
  'set'.padEnd(14) + columns.repeat(modes.length),
].join('\n')

/** Marks a figure below its aim with `!`. */
function rowOf(set: RelevanceSet, figures: Figures): string {
  const branches = Math.max(figures.keyword.ndcg, figures.vector.ndcg)
  const cells = modes.map((mode) => {
    const { ndcg: value, recall: found, p50Ms } = figures[mode]
    const aim = aims[set.name]?.[mode] ?? 0
    const aimed = mode === 'hybrid' ? Math.max(aim, branches - belowBranchesMax) : aim
    const short = Number(share(value)) < Number(share(aimed)) ? '!' : ' '
    const cell = (one: number | undefined): string => (one ? share(one) : '').padStart(7)
    return `${cell(value)}${cell(aimed)}${short}${share(found).padStart(8)}${p50Ms.toFixed(0).padStart(6)}`
  })
  return set.name.padEnd(14) + cells.join('')
}

const share = (value: number): string => value.toFixed(3).replace(/^0/, '')
