import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { plainColumns } from '../../test/support/plain-columns.ts'
import { newId } from '../platform/ids.ts'
import { arbitraryText } from '../text/arbitrary-text.ts'
import type { SourceDocument } from './index-source.ts'
import { prepareDocument } from './prepare-document.ts'
import { preparePortion } from './prepare-portion.ts'
import { changesOf } from './read-packed.ts'

const noYield = async (): Promise<void> => {}
const limits = { documents: 100, characters: 1_000_000 }

suite('changes packed for another thread', () => {
  test('are unpacked unchanged, whatever the texts, and however often words repeat', async () => {
    const text = fc.option(arbitraryText, { nil: null })
    const version = fc.record({ title: text, body: text, language: fc.constantFrom('en', 'de', 'zh', null) })
    await fc.assert(
      fc.asyncProperty(fc.array(version, { minLength: 1, maxLength: 4 }), async (versions) => {
        const documents = versions.map(
          (one, i): SourceDocument => ({
            documentId: newId('doc'),
            revision: i + 1,
            columns: plainColumns,
            versions: [{ ...one, versionId: newId('ver'), current: true, vectors: [] }],
          }),
        )
        const prepared = await Promise.all(documents.map((document) => prepareDocument(document, noYield)))
        const portion = await preparePortion({ documentsAfter: async () => documents }, 0, limits)
        assert.deepEqual(
          changesOf(structuredClone(portion!.changes)),
          prepared.flatMap(({ changes }) => changes),
        )
      }),
    )
  })

  test('keep the vectors of their chunks', async () => {
    const document: SourceDocument = {
      documentId: newId('doc'),
      revision: 1,
      columns: plainColumns,
      versions: [{ versionId: newId('ver'), current: true, language: 'en', title: 't', body: 'One.', vectors: [] }],
    }
    const { chunks } = await prepareDocument(document, noYield)
    const vector = { profileId: 'm', chunkId: chunks[0]!.chunkId, vector: Float32Array.of(1, 2) }
    const vectors = [vector, { ...vector, profileId: 'n' }]
    const made = { ...document, versions: document.versions.map((one) => ({ ...one, vectors })) }
    const erased = { documentId: newId('doc'), revision: 2, isErased: true } as const
    const portion = await preparePortion({ documentsAfter: async () => [made, erased] }, 0, limits)
    const [put, retired] = changesOf(structuredClone(portion!.changes))
    assert.deepEqual(put?.kind === 'put_version' && put.chunks[0]!.vectors, vectors)
    assert.deepEqual(retired, { kind: 'retire_document', documentId: erased.documentId })
  })
})
