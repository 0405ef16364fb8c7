import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import type { Scope } from '../../src/access/scope.ts'
import type { IndexChange, SearchIndex } from '../../src/indexing/fed-index.ts'
import { prepareDocument } from '../../src/indexing/prepare-document.ts'
import { derivedId } from '../../src/platform/ids.ts'
import { type DocumentHit, type KeywordPage, noFilters } from '../../src/search/search-index.ts'
import { OpenSearchHome } from '../../src/storage/opensearch/opensearch-home.ts'
import { parseQuery } from '../../src/text/parse-query.ts'
import { openSearchNodes, patience, withoutOpenSearch } from '../support/opensearch-nodes.ts'
import { plainColumns } from '../support/plain-columns.ts'
import { InProcessSegments } from './in-process-segments.ts'
import { entry, timeoutMs } from './index-under-test.ts'
import { isSameFloat } from './same-answers.ts'

/**
 * The cluster ranks like the embedded index: both get the same texts and queries, prepared by the product's own rules.
 * The seeds are fixed, so that the content is the same in every run.
 */
const seed = 17
const documentCount = 500
const queryCount = 100
const dimensions = 24
const depth = 20
const datasets = ['d0', 'd1', 'd2', 'd3']

const evenly = (min: number, max: number) =>
  fc.noBias(fc.integer({ min: 0, max: 1_000_000 }).map((step) => min + ((max - min) * step) / 1_000_000))

/** Words that are inflected like English ones, a few frequent and most rare. */
const stems = fc.sample(fc.stringMatching(/^[bcdfglmnprt][aeiou][bcdfglmnprt][aeiou][bdgkmnpt]$/), {
  numRuns: 400,
  seed,
})
const word = fc
  .tuple(evenly(0, 1), fc.constantFrom('', '', 's', 'ing', 'ed', 'er'))
  .map(([place, ending]) => `${stems[Math.floor(place ** 3 * (stems.length - 1))]}${ending}`)
const wordsOf = (minLength: number, maxLength: number) =>
  fc.array(word, { minLength, maxLength }).map((words) => words.join(' '))
/** No two vectors are equally near, because the order of equally near ones at the end of a list is not guaranteed. */
const component = evenly(-1, 1)
const vector = fc.array(component, { minLength: dimensions, maxLength: dimensions })

/** Some bodies are long enough for several chunks. */
const documents = fc.sample(
  fc.record({
    dataset: fc.constantFrom(...datasets),
    title: wordsOf(0, 8),
    body: fc.oneof({ weight: 9, arbitrary: wordsOf(0, 80) }, { weight: 1, arbitrary: wordsOf(300, 700) }),
  }),
  { numRuns: documentCount, seed },
)
const queries = fc.sample(
  fc.record({
    text: fc.oneof(
      { weight: 4, arbitrary: wordsOf(1, 6) },
      { weight: 1, arbitrary: fc.tuple(wordsOf(2, 2), wordsOf(0, 2)).map(([phrase, rest]) => `"${phrase}" ${rest}`) },
      { weight: 1, arbitrary: fc.tuple(word, word, word).map(([must, any, not]) => `+${must} ${any} -${not}`) },
    ),
    lastIsPrefix: fc.boolean(),
    vector,
    scope: fc.constantFrom<Scope>(
      { entries: [{ ...entry, datasets }] },
      { entries: [{ ...entry, datasets: ['d1', 'd2'] }] },
      {
        entries: [
          { ...entry, datasets: ['d0', 'd1'], fields: ['title'] },
          { ...entry, datasets: ['d1', 'd2'], fields: ['body'] },
        ],
      },
    ),
  }),
  { numRuns: queryCount, seed },
)

/** Texts and queries that could be mistaken for commands: query syntax, scripts, symbols, letters of all kinds. */
const oddTexts = [
  {
    title: 'C++ and C#',
    body: 'C++ or F#, a*b, a|b, 100% | \\ / "quoted" (paren) [x] {y} ~fuzzy^2 AND OR NOT field:value',
  },
  { title: '🙂 👩‍👩‍👧‍👦', body: 'I like 🙂 and 🇩🇪 and ❤️, see https://example.org/a?b=c#d or me@example.org' },
  {
    title: 'to be or not to be',
    body: "To be, or not: it's a well-known rock'n'roll question of 192.168.0.1 and 3.14",
  },
  { title: '東京タワー', body: '机器学习是人工智能的一个分支。カタカナ ｶﾀｶﾅ ภาษาไทย اللغة العربية Straße ﬁne ①' },
  {
    title: '',
    body: `nul\u0000 in \ud800 a lone half \u202e and zero\u200bwidth ${'x'.repeat(5000)} ${'y'.repeat(300)}`,
  },
]
const oddQueries = [
  ...String.raw`
    "  "quoted  *  qu*  ?  +  -  +-  -quoted  -the  +the +question  %  |  a|b  \  /q.*/  to be or not to be
    "to be or not to be"  the  AND OR NOT  title:quoted AND body:x  [x TO y]  quoted~1^5  C++  C#  🙂  🇩🇪  👩‍👩‍👧‍👦  ❤️
    机器学习  "机器学习"  東京  ｶﾀｶﾅ  ภาษา  العربية  STRASSE  fine  ①  192.168.0.1  https://example.org/a?b=c
    me@example.org  rock'n'roll  +well-known  '; drop table x; --  {{7*7}}`
    .trim()
    .split(/ {2,}|\n */),
  ...['" "', '\u0000', '\ud800', '\u202e', 'x'.repeat(5000), 'y'.repeat(300), '-'.repeat(10_000), '"'.repeat(10_000)],
  ...['quoted ', '+quoted ', '"quoted paren" '].map((words) => words.repeat(1500)),
  Array.from({ length: 2000 }, (_, i) => `-n${i}`).join(' '),
]

suite('ranking in the cluster and in the embedded index', {
  skip: openSearchNodes === null ? withoutOpenSearch : false,
}, () => {
  const home = new OpenSearchHome({
    nodes: openSearchNodes ?? ['http://none'],
    prefix: `test-${randomBytes(4).toString('hex')}`,
    origin: { rules: 'one', instance: 'a' },
    shards: 2,
    graceMs: 0,
    ...patience,
  })
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-parity-'))
  const embedded = new InProcessSegments({ path: join(folder, 'index.db'), sealChunks: 100, segmentChunks: 500 })
  let cluster: SearchIndex
  before(async () => {
    cluster = await home.open()
    const odd = oddTexts.map((texts) => ({ ...texts, dataset: 'odd', language: null }))
    const changes = (await Promise.all([...documents, ...odd].map(changesOf))).flat()
    for (const index of [embedded, cluster]) {
      assert.deepEqual(await index.apply({ position: 1, changes }), { outcome: 'applied' })
    }
  })
  after(async () => {
    await embedded.close()
    rmSync(folder, { recursive: true })
    if (cluster !== undefined) await home.remove()
  })

  test('by words: nearly all of the first twenty and of the first results are the same', async () => {
    const pairs: Pair[] = []
    for (const { text, lastIsPrefix, scope } of queries) {
      const query = parseQuery(text, ['en'], { lastIsPrefix })
      const request = { query, scope, filters: noFilters, limit: depth, after: null, otherChunksMax: 0, timeoutMs }
      pairs.push(await bothOf((index) => index.keyword(request)))
    }
    assert.ok(pairs.filter(([one]) => one.length >= depth).length > queryCount / 3, 'too little was found')
    assertSameRanking(pairs)
  })

  test('whatever is typed, what it finds is the same, with the same scores', async () => {
    const scope = { entries: [{ ...entry, datasets: ['odd'] }] }
    let found = 0
    for (const text of oddQueries) {
      const query = parseQuery(text, null, { lastIsPrefix: true })
      const request = { query, scope, filters: noFilters, limit: depth, after: null, otherChunksMax: 0, timeoutMs }
      const [one, other] = await Promise.all([embedded, cluster].map((index) => index.keyword(request)))
      assert.ok(one?.outcome === 'found' && other?.outcome === 'found', text)
      const told = ({ totalChunks, hits }: KeywordPage) => [totalChunks, ...hits.map(({ chunkId }) => chunkId)]
      assert.deepEqual(told(other), told(one), text)
      assert.ok(
        one.hits.every(({ score }, i) => isSameFloat(score, other.hits[i]!.score)),
        text,
      )
      if (one.hits.length > 0) found++
    }
    assert.ok(found > oddQueries.length / 2, `${found} found something`)
  })

  test('by vectors: the same', async () => {
    const pairs: Pair[] = []
    for (const { vector, scope } of queries) {
      const request = { profileId: 'p', vector, scope, filters: noFilters, topK: depth, timeoutMs }
      pairs.push(await bothOf((index) => index.vector(request)))
    }
    assert.ok(pairs.every(([one]) => one.length > 0))
    assertSameRanking(pairs)
  })

  async function bothOf(
    ask: (index: SearchIndex) => Promise<{ outcome: string; hits?: readonly DocumentHit[] }>,
  ): Promise<Pair> {
    const idsOf = async (index: SearchIndex): Promise<string[]> => {
      const { outcome, hits } = await ask(index)
      assert.equal(outcome, 'found')
      return hits!.map(({ documentId }) => documentId)
    }
    return [await idsOf(embedded), await idsOf(cluster)]
  }
})

/** The documents found by the embedded index and by the cluster. */
type Pair = readonly [string[], string[]]

function assertSameRanking(pairs: readonly Pair[]): void {
  const mean = (of: (one: string[], other: string[]) => number): number =>
    pairs.reduce((sum, [one, other]) => sum + of(one, other), 0) / pairs.length
  const overlap = mean((one, other) => {
    const most = Math.max(one.length, other.length)
    return most === 0 ? 1 : one.filter((id) => other.includes(id)).length / most
  })
  assert.ok(overlap >= 0.98, `overlap at ${depth}: ${overlap}`)
  const sameFirst = mean(([one], [other]) => Number(one === other))
  assert.ok(sameFirst >= 0.99, `the same first result: ${sameFirst}`)
}

async function changesOf(
  { dataset, title, body, language = 'en' }: (typeof documents)[number] & { readonly language?: string | null },
  number: number,
): Promise<readonly IndexChange[]> {
  const documentId = derivedId('doc', number, 'parity')
  const { changes } = await prepareDocument(
    {
      documentId,
      revision: 1,
      columns: { ...plainColumns, datasetId: dataset, language },
      versions: [{ versionId: derivedId('ver', number, 'parity'), current: true, language, title, body, vectors: [] }],
    },
    async () => {},
  )
  return changes.map((change) =>
    change.kind === 'put_version' ? { ...change, chunks: change.chunks.map(withVector) } : change,
  )
}

let made = 0
const withVector = <Chunk extends object>(chunk: Chunk) => ({
  ...chunk,
  vectors: [{ profileId: 'p', vector: Float32Array.from(fc.sample(vector, { numRuns: 1, seed: ++made })[0]!) }],
})
