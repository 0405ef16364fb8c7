import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { CheckedLine } from './check-line.ts'
import type { IncomingDocument, IngestResult, Refusal } from './content-store.ts'
import { ingestLines } from './ingest-lines.ts'
import type { Line } from './read-lines.ts'

const lineOf = (text: string): Line => ({ text, ended: true, endsAt: 0, tooLong: false, garbled: false })
/** A line is its external ID. `-` is empty, and `!` is refused. */
const check = (line: Line): CheckedLine => {
  if (line.text === '-') return null
  if (line.text.startsWith('!')) return { refusal: { code: 'invalid_document', message: line.text } }
  return { document: { datasetId: 'd', platform: 'p', externalId: line.text, body: 'b' } }
}
const resultOf = (document: IncomingDocument): IngestResult => ({
  documentId: document.externalId,
  versionId: 'v',
  outcome: 'created',
})
const nameOf = (result: IngestResult): string =>
  'refusal' in result ? result.refusal.message : 'documentId' in result ? result.documentId : result.outcome

const notStored = (error: unknown): Refusal => ({ code: 'not_stored', message: (error as Error).message })

async function* source(texts: Iterable<string>): AsyncGenerator<Line> {
  for (const text of texts) yield lineOf(text)
}

async function collect(portions: AsyncIterable<readonly { result: IngestResult }[]>): Promise<string[]> {
  const names: string[] = []
  for await (const portion of portions) names.push(...portion.map(({ result }) => nameOf(result)))
  return names
}

suite('writing a stream of lines', () => {
  test('keeps the order, with refusals between, and leaves out empty lines', async () => {
    const batches: number[] = []
    const submit = async (documents: readonly IncomingDocument[]) => {
      batches.push(documents.length)
      // A larger batch takes longer, so an unordered writer would be noticed.
      await new Promise((resolve) => setTimeout(resolve, documents.length / 50))
      return documents.map(resultOf)
    }
    const texts = Array.from({ length: 2345 }, (_, i) => (i % 7 === 0 ? `!${i}` : i % 11 === 0 ? '-' : String(i)))
    assert.deepEqual(
      await collect(ingestLines(source(texts), check, { submit }, notStored)),
      texts.filter((text) => text !== '-'),
    )
    assert.ok(Math.max(...batches) <= 250)
    assert.ok(batches.length <= 10)
  })

  test('reads only a few portions ahead while the store is slow', async () => {
    let pulled = 0
    async function* endless(): AsyncGenerator<Line> {
      for (;;) yield lineOf(String(pulled++))
    }
    let release: () => void = () => {}
    const blocked = new Promise<void>((resolve) => {
      release = resolve
    })
    const submit = async (documents: readonly IncomingDocument[]) => {
      await blocked
      return documents.map(resultOf)
    }
    const portions = ingestLines(endless(), check, { submit }, notStored)
    const first = portions.next()
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.ok(pulled <= 1100, `${pulled} lines were read`)
    release()
    assert.equal((await first).value?.length, 250)
    await portions.return(undefined)
  })

  test('lets other work run, however many lines are buffered', async () => {
    let turns = 0
    const turn = (): void => {
      turns++
      next = setImmediate(turn)
    }
    let next = setImmediate(turn)
    const submit = async (documents: readonly IncomingDocument[]) => documents.map(resultOf)
    for (const text of ['-', '!wrong']) {
      turns = 0
      await collect(ingestLines(source(Array(10_000).fill(text)), check, { submit }, notStored))
      assert.ok(turns >= 39, `${turns} turns beside 10,000 times ${text}`)
    }
    clearImmediate(next)
  })

  test('writes at once when the sender pauses', async () => {
    const more = Promise.withResolvers<void>()
    async function* slow(): AsyncGenerator<Line> {
      yield lineOf('one')
      yield lineOf('two')
      await more.promise
      yield lineOf('three')
    }
    const portions = ingestLines(slow(), check, { submit: async (documents) => documents.map(resultOf) }, notStored)
    const first = await portions.next()
    assert.ok(first.done !== true)
    assert.deepEqual(
      first.value.map(({ result }) => nameOf(result)),
      ['one', 'two'],
    )
    more.resolve()
    assert.deepEqual(await collect(portions), ['three'])
  })

  test('writes up to the failure of the source, which is reported last', async () => {
    async function* broken(): AsyncGenerator<Line> {
      yield lineOf('one')
      yield lineOf('!two')
      throw new Error('gone')
    }
    const submit = async (documents: readonly IncomingDocument[]) => documents.map(resultOf)
    const names: string[] = []
    await assert.rejects(async () => {
      for await (const portion of ingestLines(broken(), check, { submit }, notStored)) {
        names.push(...portion.map(({ result }) => nameOf(result)))
      }
    }, /gone/)
    assert.deepEqual(names, ['one', '!two'])
  })

  test('returns an error for each document that the store could not write, or throws it', async () => {
    const submit = async (): Promise<never> => {
      throw new Error('disk full')
    }
    const texts = ['one', '!two', 'three']
    const results = []
    for await (const portion of ingestLines(source(texts), check, { submit }, notStored)) results.push(...portion)
    assert.deepEqual(
      results.map(({ result }) => 'refusal' in result && result.refusal),
      [
        { code: 'not_stored', message: 'disk full' },
        { code: 'invalid_document', message: '!two' },
        { code: 'not_stored', message: 'disk full' },
      ],
    )
    const thrownOn = (error: unknown): never => {
      throw error
    }
    const many = Array.from({ length: 1000 }, (_, i) => String(i))
    await assert.rejects(collect(ingestLines(source(many), check, { submit }, thrownOn)), /disk full/)
  })
})
