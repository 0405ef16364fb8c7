import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import fc from 'fast-check'
import { Catalog, datasetsOf, type Parameters } from './catalog-requests.ts'
import { documentOf, type Sent, send } from './content.ts'

const datasets = datasetsOf('property')
const { news, forum } = datasets

/**
 * Listings while others write. A document that existed before the first page and after the last, and matched all the
 * time, is found exactly once. The test states the rules a second time, on the sent documents.
 */
const names = ['a', 'b', 'c', 'd'] as const
const some = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 2 })
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
/** Few conditions at a time, because many together match nothing. */
const seldom = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
const time = fc.integer({ min: 0, max: 9 })
const published = (day: number) => `2026-0${1 + (day % 9)}-01T00:00:00.000Z`

interface State {
  readonly dataset: string
  readonly platform: string
  readonly author: string | undefined
  readonly topics: readonly string[]
  readonly tags: readonly string[]
  readonly code: string | undefined
  readonly score: number | undefined
  readonly type: string
  readonly day: number
  readonly status: string
}
const state: fc.Arbitrary<State> = fc.record({
  dataset: fc.constantFrom(news, forum),
  platform: fc.constantFrom('p', 'q'),
  author: maybe(fc.constantFrom(...names)),
  topics: some,
  tags: some,
  code: maybe(fc.constantFrom(...names)),
  score: maybe(fc.integer({ min: -3, max: 3 })),
  type: fc.constantFrom('article', 'post'),
  day: time,
  status: fc.constantFrom('active', 'active', 'unavailable'),
})
const asSent = (id: string, of: State): Sent =>
  documentOf(id, {
    dataset_id: of.dataset,
    source_platform: of.platform,
    author: of.author === undefined ? null : { external_author_id: of.author },
    topics: of.topics,
    tags: of.tags,
    facts: of.code === undefined ? [] : [{ kind: 'category', metadata: { label_code: of.code } }],
    score: of.score ?? null,
    content_type: of.type,
    published_at: published(of.day),
    status: of.status,
  })

interface Filter {
  readonly dataset?: string | undefined
  readonly platforms?: readonly string[] | undefined
  readonly author?: string | undefined
  readonly topics?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
  readonly codes?: readonly string[] | undefined
  readonly scoreMin?: number | undefined
  readonly scoreMax?: number | undefined
  readonly types?: readonly string[] | undefined
  readonly days?: readonly [number, number] | undefined
  readonly status?: string | undefined
}
const filter: fc.Arbitrary<Filter> = fc.record({
  dataset: seldom(fc.constantFrom(news, forum)),
  platforms: seldom(fc.uniqueArray(fc.constantFrom('p', 'q'), { minLength: 1 })),
  author: seldom(fc.constantFrom(...names)),
  topics: seldom(some),
  tags: maybe(some),
  codes: seldom(some),
  scoreMin: seldom(fc.integer({ min: -3, max: 1 })),
  scoreMax: seldom(fc.integer({ min: 1, max: 3 })),
  types: seldom(fc.constantFrom(['article'], ['post'], ['article', 'post'])),
  days: seldom(fc.constantFrom([1, 5] as const, [0, 8] as const)),
  status: seldom(fc.constantFrom('active', 'unavailable')),
})

function parametersOf(of: Filter): Parameters {
  const parameters: Record<string, string | number> = {}
  const set = (name: string, value: string | number | readonly string[] | undefined): void => {
    if (value !== undefined) parameters[name] = typeof value === 'object' ? value.join(',') : value
  }
  set('dataset_id', of.dataset)
  // A filter by author names one platform.
  set('source_platforms', of.author === undefined ? of.platforms : 'p')
  set('external_author_id', of.author)
  set('topics', of.topics)
  set('tags', of.tags)
  set('classification_codes', of.codes)
  set('score_min', of.scoreMin)
  set('score_max', of.scoreMax)
  set('content_types', of.types)
  set('published_from', of.days && published(of.days[0]))
  set('published_to', of.days && published(of.days[1]))
  set('status', of.status)
  return parameters
}

function matches(of: Filter, one: State): boolean {
  const shares = (wanted: readonly string[] | undefined, has: readonly string[]) =>
    wanted === undefined || wanted.some((value) => has.includes(value))
  if (of.dataset !== undefined && one.dataset !== of.dataset) return false
  if (of.author !== undefined && (one.platform !== 'p' || one.author !== of.author)) return false
  if (of.author === undefined && !shares(of.platforms, [one.platform])) return false
  if (!shares(of.topics, one.topics) || !shares(of.tags, one.tags) || !shares(of.types, [one.type])) return false
  if (!shares(of.codes, one.code === undefined ? [] : [one.code])) return false
  if (of.scoreMin !== undefined && (one.score === undefined || one.score < of.scoreMin)) return false
  if (of.scoreMax !== undefined && (one.score === undefined || one.score > of.scoreMax)) return false
  const at = published(one.day)
  if (of.days !== undefined && (at < published(of.days[0]) || at >= published(of.days[1]))) return false
  return of.status === undefined || one.status === of.status
}

suite('listings under concurrent writes', () => {
  let catalog: Catalog
  /** Every state of a document since a listing began. The last one is the current state. */
  const known = new Map<string, { id: string; states: State[] }>()
  let next = 0

  async function write(states: readonly State[], update: readonly number[]): Promise<void> {
    const there = [...known.keys()]
    const batch = new Map<string, State>()
    states.forEach((one, i) => {
      const again = there.length > 0 && i < update.length ? there[update[i]! % there.length] : undefined
      const before = again === undefined ? undefined : known.get(again)!.states.at(-1)!
      // Dataset and platform are part of a document's identity.
      if (again !== undefined) batch.set(again, { ...one, dataset: before!.dataset, platform: before!.platform })
      else batch.set(`x${next++}`, one)
    })
    // Recorded before it is sent, because a listing may see it as soon as it is on its way.
    for (const [name, one] of batch) known.get(name)?.states.push(one)
    const results = await send(
      catalog.server,
      catalog.collector,
      [...batch].map(([name, one]) => asSent(name, one)),
    )
    ;[...batch].forEach(([name, one], i) => {
      assert.ok(results[i]!.document_id !== undefined, JSON.stringify(results[i]))
      if (!known.has(name)) known.set(name, { id: results[i]!.document_id, states: [one] })
    })
  }

  before(async () => {
    catalog = await Catalog.start(datasets)
    for (let i = 0; i < 4; i++) await write(fc.sample(state, { numRuns: 60, seed: i }), [])
  })

  test('a document that matched throughout is found once, one that never matched is not, in strict order', async () => {
    const met = { pages: 0, found: 0, written: 0 }
    const writes = fc.array(
      fc.record({
        states: fc.array(state, { minLength: 1, maxLength: 5 }),
        update: fc.array(fc.nat(), { maxLength: 4 }),
      }),
      { minLength: 1, maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(filter, fc.constantFrom(1, 3, 10, 40), writes, async (wanted, limit, changes) => {
        for (const one of known.values()) one.states.splice(0, one.states.length - 1)
        const there = new Set([...known.values()].map(({ id }) => id))
        const parameters = { ...parametersOf(wanted), limit }
        let reading = true
        const writing = (async () => {
          for (const { states, update } of changes) {
            if (!reading) return
            await write(states, update)
            met.written++
          }
        })()
        const got: { id: string; at: string }[] = []
        let cursor: string | undefined
        // With one document for each page a long list is slow, so only its first pages are read.
        for (let pages = 0; pages < (limit === 1 ? 8 : 1000); pages++) {
          const page = await catalog.list({ ...parameters, ...(cursor === undefined ? {} : { cursor }) })
          got.push(...page.documents.map(({ document }) => ({ id: document.id, at: document.created_at })))
          met.pages++
          cursor = page.next_cursor
          if (cursor === undefined) break
        }
        reading = false
        await writing

        const ids = got.map(({ id }) => id)
        assert.deepEqual(ids, [...ids].sort().reverse(), 'newest first')
        assert.equal(new Set(ids).size, ids.length, 'each once')
        const seen = new Set(ids)
        const last = cursor === undefined ? '' : ids.at(-1)!
        for (const { id, states } of known.values()) {
          if (states.every((one) => matches(wanted, one)) && there.has(id) && id >= last) {
            assert.ok(seen.has(id), `${id} matched throughout and was not found`)
            met.found++
          }
          if (!states.some((one) => matches(wanted, one))) assert.ok(!seen.has(id), `${id} never matched`)
        }
      }),
      { numRuns: 60, endOnFailure: true },
    )
    assert.ok(met.pages > 150 && met.found > 400 && met.written > 60, JSON.stringify(met))
  })
})
