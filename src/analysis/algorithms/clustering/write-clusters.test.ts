import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { bareDocument, executeHere, type GivenRow, idAt } from '../../../../test/support/execute-here.ts'
import type { Series } from '../../algorithm.ts'
import { clustering } from './clustering.ts'

const dimensions = 24

/** Pseudo-random numbers from -1 to 1 from a seed. */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1
  }
}

const topics = [
  { words: ['harbour', 'pilots', 'ferry'], language: 'en', platform: 'rss' },
  { words: ['Muscheln', 'Rezept', 'kochen'], language: 'de', platform: 'blog' },
  { words: ['潮汐', '渔船', '灯塔'], language: 'zh', platform: 'rss' },
  { words: ['vaccines', 'hospital', 'doctor'], language: 'en', platform: 'forum' },
] as const
const filler = { en: 'the of and it was that', de: 'der die das und es wurde', zh: '他们 可以 一个' }

interface Labelled extends GivenRow {
  readonly topic: number
}

/** Chunks around a few directions alternate with chunks anywhere. */
function mixture(perTopic: number, anywhere: number): Labelled[] {
  const next = numbersFrom(7)
  const centres = topics.map(() => Array.from({ length: dimensions }, next))
  const rows: Labelled[] = []
  for (let i = 0; i < perTopic; i++) {
    for (const [topic, { words, language, platform }] of topics.entries()) {
      rows.push({
        topic,
        vector: centres[topic]!.map((value) => value + next() * 0.45),
        text: `${filler[language]} ${words[i % 3]} ${words[(i + 1) % 3]} 2026 x${i}`,
        document: {
          ...bareDocument,
          language,
          platform,
          title: words[0],
          publishedAt: i === 0 ? null : Date.UTC(2026, 0, 1 + (i % 5), i % 24),
        },
      })
    }
  }
  for (let i = 0; i < anywhere; i++) {
    rows.push({
      topic: -1,
      vector: Array.from({ length: dimensions }, next),
      text: `Something about thing${i}`,
      document: { ...bareDocument, language: 'en' },
    })
  }
  return rows
}

const defaults = { min_cluster_size: 5, resolution: 1 }
const run = async (
  rows: readonly GivenRow[],
  parameters = defaults,
  running: { threads?: number; series?: Series } = {},
) => {
  const { tables, progress } = await executeHere(clustering, rows, parameters, running)
  return {
    tables,
    assignments: tables.assignments!.rows as { subject_id: string; cluster_id: string | null; strength: number }[],
    clusters: tables.clusters!.rows as unknown as {
      cluster_id: string
      size: number
      documents: number
      words: string[]
      central_document_ids: string[]
      first_published_at: Date | null
      last_published_at: Date | null
      platforms: Record<string, number>
      languages: Record<string, number>
      days: Record<string, number>
    }[],
    bytes: Object.values(tables).map(({ sha256 }) => sha256),
    progress,
  }
}

suite('clusters', () => {
  const rows = mixture(30, 3)

  test('match the planted topics, leave out other chunks, and give the same bytes every time', async () => {
    const { assignments, clusters, bytes, progress } = await run(rows)
    assert.deepEqual(
      assignments.map(({ subject_id }) => subject_id),
      rows.map((_, i) => idAt('chk', i)),
    )
    const topicOf = new Map<string, Set<number>>()
    for (const [i, { cluster_id, strength }] of assignments.entries()) {
      if (cluster_id === null) assert.equal(strength, 0)
      else {
        assert.ok(strength > 0 && strength <= 1)
        topicOf.set(cluster_id, (topicOf.get(cluster_id) ?? new Set()).add(rows[i]!.topic))
      }
    }
    assert.deepEqual(
      clusters.map(({ size }) => size),
      topics.map(() => 30),
    )
    for (const found of topicOf.values()) assert.equal(found.size, 1)
    for (const { cluster_id } of assignments.slice(-3)) assert.equal(cluster_id, null)
    for (const threads of [1, 2]) assert.deepEqual((await run(rows, defaults, { threads })).bytes, bytes)
    assert.ok(progress.every((done, i) => i === 0 || done >= progress[i - 1]!) && progress.at(-1) === 1)
    // Largest first, then by the id of a chunk in it.
    for (const [i, { cluster_id, size }] of clusters.entries()) {
      assert.ok(i === 0 || size <= clusters[i - 1]!.size)
      assert.equal(assignments.filter((row) => row.cluster_id === cluster_id).length, size)
      assert.equal(assignments.find(({ subject_id }) => subject_id === cluster_id)!.cluster_id, cluster_id)
    }
  })

  test('are described by words of their languages without stop words, by central documents, and by counts', async () => {
    const { assignments, clusters } = await run(rows)
    for (const cluster of clusters) {
      const own = rows.filter((_, i) => assignments[i]!.cluster_id === cluster.cluster_id)
      const topic = topics[own[0]!.topic]!
      assert.deepEqual(
        cluster.words.slice(0, 3).sort(),
        topic.words.map((word) => word.toLowerCase()).sort(),
        cluster.words.join(' '),
      )
      const stops = 'the of and it was that der die das und es wurde 他们 可以 一个 2026'.split(' ')
      assert.deepEqual(
        cluster.words.filter((word) => stops.includes(word)),
        [],
      )
      assert.equal(cluster.documents, own.length)
      const count = (of: (one: GivenRow['document'] & object) => string | null) =>
        Object.fromEntries(
          [
            ...Map.groupBy(
              own.flatMap(({ document }) => of(document!) ?? []),
              (value) => value,
            ),
          ]
            .map(([value, all]) => [value, all.length] as const)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      assert.deepEqual(
        cluster.platforms,
        count(({ platform }) => platform),
      )
      assert.deepEqual(
        cluster.languages,
        count(({ language }) => language),
      )
      const dayOf = (time: number | null) => (time === null ? null : new Date(time).toISOString().slice(0, 10))
      assert.deepEqual(
        cluster.days,
        count(({ publishedAt }) => dayOf(publishedAt)),
      )
      const times = own.flatMap(({ document }) => document!.publishedAt ?? [])
      assert.equal(cluster.first_published_at!.getTime(), Math.min(...times))
      assert.equal(cluster.last_published_at!.getTime(), Math.max(...times))
      assert.equal(cluster.central_document_ids.length, 5)
      assert.equal(cluster.central_document_ids[0], cluster.cluster_id.replace('chk', 'doc'))
    }
  })

  test('do not use a word of a title that may not be read', async () => {
    const titled = rows.map((row) => ({ ...row, document: { ...row.document!, title: 'Wreckage wreckage' } }))
    const untitled = titled.map((row) => ({ ...row, document: { ...row.document, title: null } }))
    const words = async (some: readonly GivenRow[]) => (await run(some)).clusters.flatMap((cluster) => cluster.words)
    assert.ok((await words(titled)).includes('wreckage'))
    assert.ok(!(await words(untitled)).includes('wreckage'))
  })

  test('a word that is common everywhere ranks below those of the topic, even in long texts', async () => {
    const own = ['harbour', 'pilot', 'vaccine', 'ferry']
    const letters = (number: number) => [...String(number)].map((digit) => 'abcdefghij'[Number(digit)]).join('')
    const long = rows.map((row, i) => ({
      ...row,
      text: `People ${i % 3 === 0 ? own[row.topic] : ''} ${Array.from({ length: 80 }, (_, j) => `q${letters(100 * i + j)}`).join(' ')}`,
      document: { ...bareDocument, language: 'en' },
    }))
    const { assignments, clusters } = await run(long)
    for (const { cluster_id, words } of clusters) {
      const topic = long.find((_, i) => assignments[i]!.cluster_id === cluster_id)!.topic
      assert.equal(words[0], own[topic], words.join(' '))
    }
  })

  test('have at least the requested size, and get finer or coarser with the resolution', async () => {
    const { clusters } = await run(rows, { ...defaults, min_cluster_size: 31 })
    assert.ok(clusters.every(({ size }) => size >= 31))
    const [fine, coarse] = [
      await run(rows, { ...defaults, resolution: 20 }),
      await run(rows, { ...defaults, resolution: 0.02 }),
    ]
    assert.ok(fine.clusters.length === 0 || fine.clusters[0]!.size < coarse.clusters[0]!.size)
  })

  test('keep their ids in a series, and the history says what became of each', async () => {
    const historyIn = ({ tables }: Awaited<ReturnType<typeof run>>) =>
      tables.cluster_history!.rows as unknown as {
        cluster_id: string
        run_id: string
        status: string
        parent_cluster_ids: string[]
        size: number
      }[]
    const series = (number: number, before: Uint8Array | null): { series: Series } => ({
      series: { runId: `run_${number}`, turn: number, cutoffAt: Date.UTC(2026, 0, 1), before },
    })
    const alone = await run(rows)
    assert.equal(alone.tables.cluster_history, undefined)

    // The last topic is missing from the first run, and the first topic from the second. Ids of chunks follow from
    // their position.
    const without = (topic: number) => rows.map((row) => (row.topic === topic ? { ...row, vector: nowhere } : row))
    const nowhere = new Array<number>(dimensions).fill(0)
    const first = await run(without(3), defaults, series(1, null))
    assert.deepEqual(
      historyIn(first).map(({ run_id, status, parent_cluster_ids, size }) => [
        run_id,
        status,
        parent_cluster_ids,
        size,
      ]),
      [1, 2, 3].map(() => ['run_1', 'new', [], 30]),
    )
    const second = await run(without(0), defaults, series(2, first.tables.assignments!.file))
    const clusterIn = ({ assignments }: typeof first, topic: number) =>
      assignments.find((_, i) => rows[i]!.topic === topic)!.cluster_id
    const [gone, ...kept] = [0, 1, 2].map((topic) => clusterIn(first, topic)!)
    const fresh = clusterIn(second, 3)!
    assert.deepEqual(
      [1, 2].map((topic) => clusterIn(second, topic)),
      kept,
    )
    assert.equal(new Set([gone, fresh, ...kept]).size, 4)
    for (const id of [gone, fresh, ...kept]) assert.match(id!, /^clu_/)
    const expected = [
      ...kept.map((id) => [id, 'run_2', 'continued', [id], 30]),
      [fresh, 'run_2', 'new', [], 30],
      [gone, 'run_2', 'gone', [], 0],
    ]
    assert.deepEqual(
      historyIn(second).map((row) => [row.cluster_id, row.run_id, row.status, row.parent_cluster_ids, row.size]),
      expected.toSorted((a, b) => Number(b[4]) - Number(a[4]) || (a[0]! < b[0]! ? -1 : 1)),
    )
    assert.deepEqual(second.clusters.map(({ cluster_id }) => cluster_id).sort(), [fresh, ...kept].sort())
    const again = await run(without(0), defaults, { ...series(2, first.tables.assignments!.file), threads: 2 })
    assert.deepEqual(again.bytes, second.bytes)
    // A topic that was forgotten in between gets another id when it returns.
    const third = await run(rows, defaults, series(3, second.tables.assignments!.file))
    assert.deepEqual(
      [1, 2, 3].map((topic) => clusterIn(third, topic)),
      [...kept, fresh],
    )
    assert.ok(![gone, fresh, ...kept].includes(clusterIn(third, 0)!))
    assert.deepEqual(historyIn(await run([], defaults, series(4, null))), [])
  })

  test('equal vectors share a cluster however many there are, zero vectors are in none, and one row is enough input', async () => {
    const copies: GivenRow[] = Array.from({ length: 40 }, () => rows[0]!)
    const nowhere = { ...rows[0]!, vector: new Array<number>(dimensions).fill(0) }
    const { assignments, clusters } = await run([...copies, nowhere])
    assert.deepEqual(
      clusters.map(({ size, documents }) => [size, documents]),
      [[40, 40]],
    )
    assert.deepEqual(assignments.at(-1)!.cluster_id, null)
    for (const few of [[], [rows[0]!], [nowhere]]) {
      const { assignments: some, clusters: none } = await run(few)
      assert.deepEqual([some.length, none.length], [few.length, 0])
    }
  })
})
