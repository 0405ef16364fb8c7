/**
 * What one application feels of another that asks for as much as it may: answer times of single searches, alone and
 * beside a crowd, in turns, because a machine is not as fast in one second as in the next. Aim: a p99 of at most twice
 * what it is alone.
 *
 *   npm run bench -- fairness [--chunks N] [--seconds N] [--rounds N] [--folder FOLDER]
 *
 * The crowd is one application with the policy of any other (50 requests a second, 32 at once). Every query is asked once,
 * so that each has to be embedded; a long one takes the built-in model some 30 times as long as a keyword search takes.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { indexPath } from '../src/storage/segments/file/index-files.ts'
import { drawVector, randomFrom, wordOf } from './index/corpus.ts'
import { Client, quantile } from './search/client.ts'
import { fill } from './search/fill-folder.ts'
import { spell } from './search/spell.ts'
import { adminToken, ServerProcess } from './support/server-process.ts'

const datasets = Array.from({ length: 100 }, (_, i) => `d${i}`)
const crowdAtOnce = 32
/** As a refusal says: what is measured is a crowd at its limit, not what refusing costs. */
const restMs = 1000

const random = randomFrom(21)
function drawText(characters: number): string {
  let text = ''
  while (text.length < characters) text += ` ${spell(wordOf(Math.floor(50 + random() * 20_000)))}`
  return text.slice(1, characters)
}
const ownVector = () => [...drawVector(random)].map((value) => Math.fround(value))

const questions = {
  'hybrid, long text': () => ({ mode: 'hybrid', query: drawText(990) }),
  'hybrid, short text': () => ({ mode: 'hybrid', query: drawText(40) }),
  'hybrid, own vector': () => ({ mode: 'hybrid', query: drawText(40), query_vector: ownVector() }),
  'vector, own vector': () => ({ mode: 'vector', query_vector: ownVector() }),
  keyword: () => ({ mode: 'keyword', query: drawText(40) }),
} as const
type Kind = keyof typeof questions

/** What the crowd asks for, and which questions are looked at beside it. */
const cases: readonly { readonly crowd: Kind; readonly single: readonly Kind[] }[] = [
  { crowd: 'hybrid, long text', single: ['hybrid, long text', 'hybrid, short text', 'keyword'] },
  { crowd: 'hybrid, own vector', single: ['hybrid, own vector', 'keyword'] },
]

export async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      chunks: { type: 'string', default: '20000' },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '4' },
      folder: { type: 'string' },
    },
  })
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'bench-fairness-'))
  try {
    if (!existsSync(indexPath(folder, 1))) fill(folder, Number(values.chunks))
    const server = await ServerProcess.start(folder, false)
    try {
      await measure(server, Number(values.seconds) * 1000, Number(values.rounds))
    } finally {
      await server.stop()
    }
  } finally {
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(server: ServerProcess, forMs: number, rounds: number): Promise<void> {
  const crowd = await application(server, {})
  const single = await application(server, { requests_per_second: 100_000, burst: 100_000 })
  for (const kind of Object.keys(questions) as Kind[]) await searches(single, kind, forMs)
  console.log(
    `\n${'ms'.padEnd(60)}alone p50     p99  beside p50     p99   ratios p50  p99  passed by  degraded  crowd per s`,
  )
  for (const { crowd: crowdKind, single: kinds } of cases) {
    for (const kind of kinds) {
      const alone: number[] = []
      const beside: number[] = []
      let degraded = 0
      let passedBy = 0
      let crowdPerSecond = 0
      for (let round = 0; round < rounds; round++) {
        alone.push(...(await searches(single, kind, forMs)).times)
        const stop = flood(crowd, crowdKind)
        const measured = await searches(single, kind, forMs)
        const { answered, perSecond } = await stop()
        crowdPerSecond += perSecond / rounds
        passedBy += answered
        beside.push(...measured.times)
        degraded += measured.degraded
      }
      show(`${kind} beside ${crowdKind}`, alone, beside, passedBy / beside.length, degraded, crowdPerSecond)
    }
  }
}

async function application(server: ServerProcess, policy: object): Promise<Client> {
  const body = JSON.stringify({ name: 'bench', policy, entitlements: [{ datasets }] })
  const { application_id } = JSON.parse(await server.call(adminToken, 'POST', '/admin/v1/applications', body))
  const path = `/admin/v1/applications/${application_id}/keys`
  const { api_key } = JSON.parse(await server.call(adminToken, 'POST', path, '{}'))
  return new Client(server.address, api_key)
}

/** One after the other, for that long. */
async function searches(client: Client, kind: Kind, forMs: number) {
  const times: number[] = []
  let degraded = 0
  for (const until = performance.now() + forMs; performance.now() < until; ) {
    const question = JSON.stringify(questions[kind]())
    const at = performance.now()
    const { status, text } = await client.send('POST', '/v1/search', question)
    times.push(performance.now() - at)
    if (status !== 200) throw new Error(`answered ${status}: ${text}`)
    if (JSON.parse(text).degraded) degraded++
  }
  return { times, degraded }
}

/** Asks for as much as it is given. Stopping it waits until its last question is answered. */
function flood(client: Client, kind: Kind): () => Promise<{ answered: number; perSecond: number }> {
  let isOver = false
  let answered = 0
  const started = performance.now()
  const callers = Array.from({ length: crowdAtOnce }, async () => {
    while (!isOver) {
      const { status } = await client.send('POST', '/v1/search', JSON.stringify(questions[kind]()))
      if (status === 200) answered++
      else await new Promise((resolve) => setTimeout(resolve, restMs * (0.5 + Math.random())))
    }
  })
  return async () => {
    isOver = true
    const counted = { answered, perSecond: answered / ((performance.now() - started) / 1000) }
    await Promise.all(callers)
    return counted
  }
}

function show(
  name: string,
  alone: number[],
  beside: number[],
  passedBy: number,
  degraded: number,
  crowdPerSecond: number,
): void {
  const of = (times: number[]) => {
    const sorted = times.toSorted((a, b) => a - b)
    return [quantile(sorted, 0.5), quantile(sorted, 0.99)] as const
  }
  const [a50, a99] = of(alone)
  const [b50, b99] = of(beside)
  const cells = [a50.toFixed(1).padStart(9), a99.toFixed(1).padStart(8), b50.toFixed(1).padStart(12)]
  cells.push(b99.toFixed(1).padStart(8), (b50 / a50).toFixed(2).padStart(13), (b99 / a99).toFixed(2).padStart(5))
  cells.push(passedBy.toFixed(1).padStart(11), String(degraded).padStart(10), crowdPerSecond.toFixed(0).padStart(13))
  console.log(`${name.padEnd(60)}${cells.join('')}`)
}
