/**
 * How good the ranking is: nDCG@10 and recall@100 of keyword, vector and hybrid search over public test collections,
 * through the HTTP API of a real server with the built-in model.
 *
 *   npm run bench -- relevance FOLDER [--only NAME,NAME] [--queries 50] [--directions 300] [--model NAME]
 *
 * Each set has a server of its own, so that its words weigh what they weigh in it. Stores, with the vectors made for
 * them, are kept in the system's folder for temporary files and taken from there the next time; the index is built
 * anew from them in every run. `--queries` asks at most so many of each set, spread over it: quick, and only a hint.
 * Sets of one family (`xquad-en`, `xquad-zh`) are also asked each other's queries, across languages: `--directions` of
 * each, 0 for none. Beside each nDCG stands what it was with the English model alone and fixed weights
 * (relevance/before.json; every fourth query of XQuAD). `--model` is TIDEMARK_EMBEDDING_MODEL.
 */
import { parseArgs } from 'node:util'
import type { TestServer } from '../test/acceptance/harness.ts'
import before from './relevance/before.json' with { type: 'json' }
import { ndcg, recall } from './relevance/measures.ts'
import { openSet } from './relevance/open-set.ts'
import { directionsTo, type RelevanceSet, readSets, sampled } from './relevance/read-sets.ts'
import { progress } from './support/progress.ts'

const modes = ['keyword', 'vector', 'hybrid'] as const
type Mode = (typeof modes)[number]
type Figures = Readonly<Record<Mode, { readonly ndcg: number; readonly recall: number; readonly p50Ms: number }>>

/** nDCG@10 to reach. Keyword: plain BM25 over stems, measured elsewhere on the same files. Hybrid: also its branches. */
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
/** So much may hybrid search be below the better of its branches. */
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
    const { server, key, idOf } = await openSet(set, { TIDEMARK_EMBEDDING_MODEL: values.model })
    const asked = [
      sampled(set, Number(values.queries)),
      ...(values.directions === '0' ? [] : directionsTo(set, sets)).map((one) =>
        sampled(one, Number(values.directions)),
      ),
    ]
    for (const one of asked) {
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
    p50Ms: times[mode].sort((a, b) => a - b)[times[mode].length >> 1] ?? 0,
  })
  return { keyword: figures('keyword'), vector: figures('vector'), hybrid: figures('hybrid') }
}

const columns = '   nDCG     aim  before   R@100    ms'
const heading = [
  ' '.repeat(14) + modes.map((mode) => `   ${mode}`.padEnd(columns.length)).join(''),
  'set'.padEnd(14) + columns.repeat(modes.length),
].join('\n')

/** A figure below its aim is marked, to the three digits that aims are given in. */
function rowOf(set: RelevanceSet, figures: Figures): string {
  const branches = Math.max(figures.keyword.ndcg, figures.vector.ndcg)
  const was: Partial<Record<Mode, number>> = (before as Readonly<Record<string, Record<Mode, number>>>)[set.name] ?? {}
  const cells = modes.map((mode) => {
    const { ndcg: value, recall: found, p50Ms } = figures[mode]
    const aim = aims[set.name]?.[mode] ?? 0
    const wanted = mode === 'hybrid' ? Math.max(aim, branches - belowBranchesMax) : aim
    const short = Number(share(value)) < Number(share(wanted)) ? '!' : ' '
    const told = (one: number | undefined): string => (one ? share(one) : '').padStart(7)
    return `${told(value)}${told(wanted)}${short}${told(was[mode])}${share(found).padStart(8)}${p50Ms.toFixed(0).padStart(6)}`
  })
  return set.name.padEnd(14) + cells.join('')
}

const share = (value: number): string => value.toFixed(3).replace(/^0/, '')
