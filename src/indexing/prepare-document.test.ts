import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { plainColumns } from '../../test/support/plain-columns.ts'
import { newId } from '../platform/ids.ts'
import { arbitraryText } from '../text/arbitrary-text.ts'
import type { SourceDocument, SourceVersion } from './index-source.ts'
import { prepareDocument } from './prepare-document.ts'

const noYield = async (): Promise<void> => {}

const documentOf = (...versions: Partial<SourceVersion>[]): SourceDocument => ({
  documentId: newId('doc'),
  revision: 1,
  columns: plainColumns,
  versions: versions.map((version, i) => ({
    versionId: newId('ver'),
    current: i === versions.length - 1,
    language: null,
    title: null,
    body: null,
    vectors: [],
    ...version,
  })),
})

suite('preparing a document for the index', () => {
  test('any text becomes chunks that lie within it, the same every time', async () => {
    const text = fc.option(arbitraryText, { nil: null })
    await fc.assert(
      fc.asyncProperty(text, text, fc.constantFrom('en', 'zh', 'xx', null), async (title, body, language) => {
        const document = documentOf({ title, body, language })
        const { changes, chunks } = await prepareDocument(document, noYield)
        assert.deepEqual(await prepareDocument(document, noYield), { changes, chunks })
        assert.ok(chunks.length >= 1)
        assert.equal(new Set(chunks.map(({ chunkId }) => chunkId)).size, chunks.length)
        for (const [i, { ordinal, startsAt, endsAt }] of chunks.entries()) {
          assert.equal(ordinal, i)
          assert.ok(0 <= startsAt && startsAt <= endsAt && endsAt <= (body ?? '').length)
        }
        const [change] = changes
        assert.ok(change?.kind === 'put_version')
        assert.deepEqual(
          change.chunks.map(({ chunkId }) => chunkId),
          chunks.map(({ chunkId }) => chunkId),
        )
      }),
      { numRuns: 200 },
    )
  })

  test('a version without a body has one empty chunk; one without any change of text sets columns only', async () => {
    const { changes, chunks } = await prepareDocument(documentOf({ title: 'Only a title' }), noYield)
    assert.equal(changes.length, 1)
    assert.deepEqual(
      chunks.map(({ startsAt, endsAt }) => [startsAt, endsAt]),
      [[0, 0]],
    )
    const document = documentOf()
    assert.deepEqual(await prepareDocument(document, noYield), {
      changes: [{ kind: 'set_columns', documentId: document.documentId, columns: plainColumns }],
      chunks: [],
    })
  })

  test('without a declared language, the languages of title and body are guessed separately', async () => {
    const german = 'Die Häfen und die Möwen sind nicht in der Stadt'
    const english = 'The harbours and the gulls are not in the city'
    const termsOf = async (title: string, body: string) => {
      const [change] = (await prepareDocument(documentOf({ title, body }), noYield)).changes
      assert.ok(change?.kind === 'put_version')
      return { title: change.title.terms, body: change.chunks[0]!.body.terms }
    }
    const texts = [german, english, 'Häfen Möwen', '']
    for (const text of texts) {
      const inTitle = await Promise.all(texts.map(async (body) => (await termsOf(text, body)).title))
      const inBody = await Promise.all(texts.map(async (title) => (await termsOf(title, text)).body))
      for (const other of texts.keys()) {
        assert.deepEqual(inTitle[other], inTitle[0])
        assert.deepEqual(inBody[other], inBody[0])
      }
    }
  })

  test("a version has its own language, or else its document's", async () => {
    const document = documentOf({ body: 'One.', language: 'fr' }, { body: 'Two.' })
    const { changes } = await prepareDocument({ ...document, columns: { ...plainColumns, language: 'de' } }, noYield)
    assert.deepEqual(
      changes.map((change) => change.kind === 'put_version' && change.columns),
      [
        { ...plainColumns, language: 'fr' },
        { ...plainColumns, language: 'de' },
      ],
    )
  })

  test('existing vectors go with their chunks; those of other chunks are dropped', async () => {
    const document = documentOf({ body: 'Some body.' })
    const chunkId = (await prepareDocument(document, noYield)).chunks[0]!.chunkId
    const made = { chunkId, profileId: 'm', vector: Float32Array.of(1) }
    const stray = { ...made, chunkId: 'chk_stray' }
    const version = { ...document.versions[0]!, vectors: [stray, made] }
    const [change] = (await prepareDocument({ ...document, versions: [version] }, noYield)).changes
    assert.ok(change?.kind === 'put_version')
    assert.deepEqual(change.chunks[0]!.vectors, [made])
  })

  test('chunks of different versions or positions have different ids', async () => {
    const body = 'One sentence stands here. '.repeat(200)
    const { chunks } = await prepareDocument(documentOf({ body }, { body }), noYield)
    assert.equal(new Set(chunks.map(({ chunkId }) => chunkId)).size, chunks.length)
    assert.ok(chunks.length >= 4)
  })

  test('the length of each text is announced, so that other work can run during a long document', async () => {
    const body = 'One sentence stands here. '.repeat(4000)
    const read: number[] = []
    await prepareDocument(documentOf({ body }), async (characters) => void read.push(characters))
    assert.ok(read.length > 10 && Math.max(...read) <= 4000)
  })
})
