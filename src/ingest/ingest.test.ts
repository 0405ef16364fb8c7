import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ContentStore, IncomingDocument, IngestResult } from './content-store.ts'
import { Ingest } from './ingest.ts'

const documentOf = (externalId: string, body = 'b'): IncomingDocument => ({
  datasetId: 'd',
  platform: 'p',
  externalId,
  body,
})

/** A slow store that records its transactions. */
class SlowStore implements ContentStore {
  readonly transactions: string[][] = []
  failing = false

  async ingest(documents: readonly IncomingDocument[]): Promise<readonly IngestResult[]> {
    this.transactions.push(documents.map((one) => one.externalId))
    await new Promise((resolve) => setTimeout(resolve, 5))
    if (this.failing) throw new Error('disk full')
    return documents.map((one) => ({ documentId: one.externalId, versionId: 'v', outcome: 'created' }))
  }

  async knownDatasets(): Promise<readonly string[]> {
    return ['d']
  }
}

const idsOf = (results: readonly IngestResult[]) => results.map((one) => ('documentId' in one ? one.documentId : null))

suite('ingest', () => {
  test('senders that arrive while a transaction is written share the next', async () => {
    const store = new SlowStore()
    let written = 0
    const ingest = new Ingest(store, () => written++)
    const sent = Array.from({ length: 40 }, (_, i) => [documentOf(`${i}a`), documentOf(`${i}b`)])
    const answers = await Promise.all(sent.map((batch) => ingest.submit(batch)))
    answers.forEach((answer, i) => {
      assert.deepEqual(idsOf(answer), [`${i}a`, `${i}b`])
    })
    assert.deepEqual(
      store.transactions.map((one) => one.length),
      [2, 78],
    )
    assert.equal(written, 2)
  })

  test('a transaction is bounded in documents and in characters', async () => {
    const store = new SlowStore()
    const ingest = new Ingest(store, () => {})
    const many = Array.from({ length: 1234 }, (_, i) => documentOf(String(i)))
    assert.deepEqual(
      idsOf(await ingest.submit(many)),
      many.map((one) => one.externalId),
    )
    assert.ok(store.transactions.every((one) => one.length <= 500))
    store.transactions.length = 0
    const large = Array.from({ length: 10 }, (_, i) => documentOf(String(i), 'x'.repeat(3_000_000)))
    assert.equal((await ingest.submit(large)).length, 10)
    assert.ok(store.transactions.every((one) => one.length <= 2))
    assert.deepEqual(await ingest.submit([]), [])
  })

  test('a failed transaction is reported to its senders, and the next one is written', async () => {
    const store = new SlowStore()
    let written = 0
    const ingest = new Ingest(store, () => written++)
    store.failing = true
    await assert.rejects(ingest.submit([documentOf('1')]), /disk full/)
    store.failing = false
    assert.deepEqual(idsOf(await ingest.submit([documentOf('1')])), ['1'])
    assert.equal(written, 1)
  })

  test('is idle when everything is written', async () => {
    const store = new SlowStore()
    const ingest = new Ingest(store, () => {})
    await ingest.idle()
    const done: string[] = []
    for (const id of ['1', '2', '3']) void ingest.submit([documentOf(id)]).then(() => done.push(id))
    await ingest.idle()
    assert.deepEqual(done.sort(), ['1', '2', '3'])
  })
})
