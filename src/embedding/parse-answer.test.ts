import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EmbeddingError } from './embedding-error.ts'
import { parseAnswer } from './parse-answer.ts'

const isBad = (error: unknown): boolean => error instanceof EmbeddingError && error.code === 'bad_answer'

test('puts vectors in the order of the texts, however they come', () => {
  const shuffled = fc
    .integer({ min: 1, max: 12 })
    .chain((count) => fc.shuffledSubarray([...Array(count).keys()], { minLength: count, maxLength: count }))
  fc.assert(
    fc.property(shuffled, (order) => {
      const data = order.map((index) => ({ object: 'embedding', index, embedding: [index + 1, 0.5] }))
      const vectors = parseAnswer(JSON.stringify({ data }), order.length)
      assert.deepEqual(
        vectors.map((vector) => vector[0]),
        order.map((_, i) => i + 1),
      )
    }),
  )
})

test('refuses answers that could assign a vector to the wrong text, or are malformed', () => {
  const item = (index: unknown, embedding: unknown = [1]): object => ({ index, embedding })
  const answers: unknown[] = [
    null,
    [],
    {},
    { data: {} },
    { data: [item(0)] },
    { data: [item(0), item(0)] },
    { data: [item(0), item(2)] },
    { data: [item(0), item(0.5)] },
    { data: [item(0), item('1')] },
    { data: [item(0), { embedding: [1] }] },
    { data: [{ embedding: [1] }, { embedding: [1] }] },
    { data: [item(0), { index: 1 }] },
    { data: [item(0), null] },
    { data: [item(0), item(1, [])] },
    { data: [item(0), item(1, [null])] },
    { data: [item(0), item(1, ['1'])] },
    { data: [item(0), item(1, 'AACAPw==')] },
    { data: [item(0), item(1), item(2)] },
  ]
  for (const answer of answers) assert.throws(() => parseAnswer(JSON.stringify(answer), 2), isBad)
  assert.throws(() => parseAnswer('{"data":[{"index":0,"embedding":[NaN]}]}', 1), isBad)
})

test('no body makes it fail in another way', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.jsonValue().map((data) => JSON.stringify({ data })),
      ),
      (body) => {
        try {
          parseAnswer(body, 1)
        } catch (error) {
          assert.ok(isBad(error))
        }
      },
    ),
  )
})
