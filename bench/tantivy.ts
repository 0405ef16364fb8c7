/**
 * The embedded search index beside tantivy, which is called in its own process from Python: the same chunks and questions,
 * titles for three times a body, 20 results with exact counts, one caller, in turns. Ours goes by a thread and asks for the
 * caller's scope; tantivy has none.
 *
 *   npm run bench -- tantivy [--chunks 100000] [--python PATH]      PATH: a Python with the wheel, `pip install tantivy`
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { noFilters, type SearchIndex } from '../src/search/search-index.ts'
import { openSegmentsIndex } from '../src/storage/segments/segments-index.ts'
import { type BenchQuery, corpus, kinds, randomFrom, scopeOf } from './index/corpus.ts'
import { quantile } from './search/client.ts'

const measuredKinds = ['rare', 'common', 'three words OR']
const rounds = 52
/** A search thread compiles what it runs over its first thousand searches or two: before, three words take twice as long. */
const warmingRounds = 40
const queriesPerRound = 50
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url))

interface Answered {
  readonly times: readonly number[]
  readonly matches: number
}

export async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { chunks: { type: 'string', default: '100000' }, python: { type: 'string', default: 'python3' } },
  })
  if (spawnSync(values.python, ['-c', 'import tantivy']).status !== 0) {
    console.log(`skipped: ${values.python} is not there or has no tantivy (pip install tantivy; --python PATH)`)
    return
  }
  const chunks = Number(values.chunks)
  const folder = mkdtempSync(join(tmpdir(), 'bench-tantivy-'))
  const path = join(folder, 'index.db')
  const tantivy = new Tantivy(values.python)
  try {
    spawnSync(process.execPath, [script('./index/fill.ts'), path, values.chunks], { stdio: 'inherit' })
    await tantivy.fill(chunks)
    const index = await openSegmentsIndex({ path })
    console.log(`${chunks} chunks, ms      least     p50     p95   matches   tantivy: least     p50     p95   matches`)
    for (const kind of measuredKinds) await compare(kind, index, tantivy)
    await index.close()
  } finally {
    tantivy.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function compare(kind: string, index: SearchIndex, tantivy: Tantivy): Promise<void> {
  const random = randomFrom(7)
  const draw = () => Array.from({ length: queriesPerRound }, () => kinds[kind]!(random))
  const answers: [Answered[], Answered[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const queries = draw()
    answers[0].push(await own(index, queries))
    answers[1].push(await tantivy.search(queries.map(({ match }) => match.split(' OR '))))
  }
  const cells = answers.map((all) => {
    const warm = all.slice(warmingRounds)
    const times = warm.flatMap((one) => one.times).sort((a, b) => a - b)
    const matches = warm.reduce((sum, one) => sum + one.matches, 0) / times.length
    const shown = [0, 0.5, 0.95].map((share) => quantile(times, share).toFixed(3).padStart(8))
    return `${shown.join('')}${matches.toFixed(0).padStart(10)}`
  })
  console.log(`${kind.padEnd(17)}${cells[0]}        ${cells[1]}`)
}

async function own(index: SearchIndex, queries: readonly BenchQuery[]): Promise<Answered> {
  const asked = { scope: scopeOf('100 %'), filters: noFilters, timeoutMs: 60_000 }
  const times: number[] = []
  let matches = 0
  for (const { query } of queries) {
    const started = performance.now()
    const page = await index.keyword({ query, ...asked, limit: 20, after: null, otherChunksMax: 0 })
    times.push(performance.now() - started)
    if (page.outcome === 'found') matches += page.totalChunks
  }
  return { times, matches }
}

/** Speaks with `answer.py` by lines. */
class Tantivy {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  constructor(python: string) {
    this.#child = spawn(python, [script('./tantivy/answer.py')], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]()
  }

  async fill(chunks: number): Promise<void> {
    for (const { title, chunks: parts } of corpus(chunks, false)) {
      for (const { body } of parts) await this.#say([title, body].map(({ terms }) => terms.join(' ')))
    }
    await this.#say(null)
    await this.#hear()
  }

  /** Each a list of words, any of which will do. */
  async search(queries: readonly (readonly string[])[]): Promise<Answered> {
    await this.#say(queries)
    return (await this.#hear()) as Answered
  }

  end(): void {
    this.#child.kill()
  }

  async #say(value: unknown): Promise<void> {
    const { stdin } = this.#child
    if (!stdin!.write(`${JSON.stringify(value)}\n`)) await once(stdin!, 'drain')
  }

  async #hear(): Promise<unknown> {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error('tantivy ended')
    return JSON.parse(value)
  }
}
