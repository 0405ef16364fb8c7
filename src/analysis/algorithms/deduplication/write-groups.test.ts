import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { bareDocument, executeHere, type GivenRow, idAt } from '../../../../test/support/execute-here.ts'
import { deduplication } from './deduplication.ts'
import { digestOf, shinglesOf, wordsOf } from './text-shingles.ts'

interface Chunk {
  readonly text: string
  readonly vector: readonly number[]
  readonly publishedAt: number | null
}

interface Member {
  readonly group_id: string
  readonly subject_id: string
  readonly document_id: string
  readonly version_id: string
  readonly is_representative: boolean
  readonly similarity: number
  readonly kind: string
}

async function groupsOf(chunks: readonly Chunk[], threshold: number): Promise<Member[]> {
  const rows: GivenRow[] = chunks.map(({ text, vector, publishedAt }) => ({
    text,
    vector,
    document: { ...bareDocument, publishedAt },
  }))
  const { tables } = await executeHere(deduplication, rows, { threshold })
  return tables.groups!.rows as unknown as Member[]
}

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, i) => sum + value * b[i]!, 0)
const cosine = (a: readonly number[], b: readonly number[]) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))

/** Compares every text with every other, as sets of plain words. */
function bruteForce(chunks: readonly Chunk[], threshold: number) {
  const wordsIn = (text: string) => text.toLowerCase().match(/[a-z]+/g) ?? []
  const runsOf = (text: string) => {
    const words = wordsIn(text)
    if (words.length < 3) return new Set([words.join(' ')])
    return new Set(words.slice(2).map((_, i) => words.slice(i, i + 3).join(' ')))
  }
  const order = chunks
    .map((chunk, i) => ({ ...chunk, id: idAt('chk', i), same: wordsIn(chunk.text).join(' ') }))
    .sort((a, b) => (a.publishedAt ?? 9) - (b.publishedAt ?? 9) || (a.id < b.id ? -1 : 1))
  const heads = order.filter((one, i) => order.findIndex(({ same }) => same === one.same) === i)
  const areNear = (a: Chunk, b: Chunk): boolean => {
    const [left, right] = [runsOf(a.text), runsOf(b.text)]
    return (
      left.intersection(right).size * 4 >= Math.max(left.size, right.size) && cosine(a.vector, b.vector) >= threshold
    )
  }
  const representatives: (typeof order)[number][] = []
  const groupOf = new Map<string, { representative: (typeof order)[number]; similarity: number }>()
  for (const head of heads) {
    const near = representatives
      .filter((one) => areNear(head, one))
      .sort((a, b) => cosine(head.vector, b.vector) - cosine(head.vector, a.vector))
    if (near.length === 0) representatives.push(head)
    const representative = near[0] ?? head
    const similarity = near.length === 0 ? 1 : cosine(head.vector, representative.vector)
    groupOf.set(head.same, { representative, similarity })
  }
  return { representatives, areNear, order, groupOf }
}

/** Variants of two texts, with few directions, so that many are near each other and some only just. */
const bases = ['the tide turned at noon and the gulls came back', 'salt and rope and a moon over the old harbour wall']
const text = fc
  .record({
    base: fc.constantFrom(...bases),
    changed: fc.array(fc.tuple(fc.nat(9), fc.constantFrom('storm', 'pilot')), { maxLength: 3 }),
    words: fc.integer({ min: 1, max: 10 }),
    between: fc.constantFrom(' ', ', ', ' -- '),
    isLoud: fc.boolean(),
  })
  .map(({ base, changed, words, between, isLoud }) => {
    const all = base.split(' ')
    for (const [at, other] of changed) all[at] = other
    const joined = all.slice(0, words > 5 ? 10 : words).join(between)
    return isLoud ? joined.toUpperCase() : `${joined}.`
  })
const chunk: fc.Arbitrary<Chunk> = fc.record({
  text,
  vector: fc.tuple(...Array.from({ length: 3 }, () => fc.integer({ min: 0, max: 2 }))).map((v) => [...v, 2]),
  publishedAt: fc.option(fc.integer({ min: 0, max: 3 })),
})

suite('groups of duplicates', () => {
  test('match a brute-force comparison of all texts, for any threshold', async () => {
    let near = 0
    let drifting = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(chunk, { maxLength: 24, size: 'max' }),
        fc.constantFrom(0.5, 0.8, 0.9, 0.95, 0.99, 1),
        async (chunks, threshold) => {
          const members = await groupsOf(chunks, threshold)
          const { representatives, areNear, order, groupOf } = bruteForce(chunks, threshold)
          const expected = order.map((one) => ({ one, ...groupOf.get(one.same)! }))
          const sizes = Map.groupBy(expected, ({ representative }) => representative.id)
          const grouped = expected.filter(({ representative }) => sizes.get(representative.id)!.length > 1)
          assert.deepEqual(members.map(({ subject_id }) => subject_id).sort(), grouped.map(({ one }) => one.id).sort())
          for (const { one, representative, similarity } of grouped) {
            const member = members.find(({ subject_id }) => subject_id === one.id)!
            assert.equal(member.is_representative, one === representative)
            assert.equal(member.kind, one.same === representative.same ? 'exact' : 'near')
            assert.ok(Math.abs(member.similarity - similarity) < 1e-12)
            // If several are equally near, rounding may decide.
            const chosen = representatives.find(({ id }) => id === member.group_id)!
            const head = order.find(({ same }) => same === one.same)!
            if (member.kind === 'near') {
              near++
              assert.ok(areNear(head, chosen) && Math.abs(cosine(head.vector, chosen.vector) - similarity) < 1e-12)
            } else assert.equal(member.group_id, representative.id)
          }
          // The properties of a group: the representative is the earliest, and no two representatives are near.
          for (const [i, one] of representatives.entries()) {
            for (const other of representatives.slice(i + 1)) assert.ok(!areNear(one, other))
          }
          for (const own of Map.groupBy(members, ({ group_id }) => group_id).values()) {
            assert.ok(own[0]!.is_representative && own[0]!.subject_id === own[0]!.group_id)
            const texts = own.map(({ subject_id }) => order.find(({ id }) => id === subject_id)!)
            drifting += texts.some((a) => texts.some((b) => !areNear(a, b) && a.same !== b.same)) ? 1 : 0
          }
        },
      ),
      { numRuns: 200 },
    )
    assert.ok(near > 30 && drifting > 3, `near ${near}, members that are not near each other in ${drifting} groups`)
  })

  test('rows are ordered by group with the representative first, and the ids of a row belong together', async () => {
    const one = { text: 'The tide comes in at noon today', vector: [1, 0], publishedAt: 5 }
    const chunks = [
      one,
      { ...one, text: 'the tide comes in, at noon; TODAY', publishedAt: 4 },
      { ...one, text: 'the tide comes in at noon tomorrow', vector: [1, 0.1], publishedAt: 3 },
      { ...one, text: 'the tide comes in at noon tomorrow', vector: [0, 0], publishedAt: null },
      { ...one, text: 'Something else is told by the same vector', publishedAt: 1 },
      { ...one, text: '!!!', vector: [0, 1], publishedAt: null },
      { ...one, text: ' !!!', vector: [0, 1], publishedAt: null },
      { ...one, text: '???', vector: [0, 1], publishedAt: null },
    ]
    const members = await groupsOf(chunks, 0.95)
    const similarity = 1 / Math.sqrt(1 + Math.fround(0.1) ** 2)
    assert.deepEqual(
      members.map((row) => [row.group_id, row.subject_id, row.is_representative, row.kind, row.similarity.toFixed(9)]),
      [
        ['chk_000002', 'chk_000002', true, 'exact', '1.000000000'],
        ['chk_000002', 'chk_000000', false, 'near', similarity.toFixed(9)],
        ['chk_000002', 'chk_000001', false, 'near', similarity.toFixed(9)],
        ['chk_000002', 'chk_000003', false, 'exact', '1.000000000'],
        ['chk_000005', 'chk_000005', true, 'exact', '1.000000000'],
        ['chk_000005', 'chk_000006', false, 'exact', '1.000000000'],
      ],
    )
    for (const { subject_id, document_id, version_id } of members) {
      assert.deepEqual(
        [document_id, version_id],
        ['doc', 'ver'].map((prefix) => subject_id.replace('chk', prefix)),
      )
    }
    assert.deepEqual(await groupsOf([], 0.95), [])
    assert.deepEqual(await groupsOf([one], 0.95), [])
  })

  test('words and shingles, in any script', () => {
    assert.deepEqual(wordsOf("Ｔｈｅ  sailor's BOAT — 1,000 miles!"), ['the', 'sailor', 'boat', '1000', 'miles'])
    assert.deepEqual(wordsOf('潮水 in 海港'), ['潮', '水', 'in', '海', '港'])
    assert.equal(shinglesOf(wordsOf('潮水涨了')).length, 2)
    assert.equal(shinglesOf(['a', 'b', 'c', 'a', 'b', 'c']).length, 3)
    assert.deepEqual([shinglesOf(['a']).length, shinglesOf([]).length], [1, 0])
    const digest = (text: string) => digestOf(wordsOf(text), text)
    assert.equal(digest('Salt, rope'), digest('salt rope!'))
    assert.notEqual(digest('salt rope'), digest('saltrope'))
    assert.notEqual(digest('☀'), digest('☂'))
  })
})
