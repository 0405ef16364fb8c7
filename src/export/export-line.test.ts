import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fieldPermissions } from '../access/scope.ts'
import type { DocumentRecord, VersionRecord } from '../catalog/catalog-store.ts'
import { contentAnswer, documentAnswer } from '../catalog/document-answer.ts'
import { idTimeMs, newId } from '../ids.ts'
import { contentText, documentLine, versionLine } from './export-line.ts'

test('lines are what the general serialiser makes of the answers of documents and texts', () => {
  const [documentId, versionId] = [newId('doc'), newId('ver')]
  const text = fc.string({ unit: 'binary' })
  const time = fc.integer({ min: Date.UTC(1000, 0, 1), max: Date.UTC(9999, 11, 31) })
  const list = fc.array(text, { maxLength: 4 })
  const record: fc.Arbitrary<DocumentRecord> = fc.record({
    documentId: fc.constant(documentId),
    datasetId: text,
    platform: text,
    externalId: text,
    url: fc.option(text),
    title: fc.option(text),
    contentType: fc.option(text),
    language: fc.option(text),
    region: fc.option(text),
    status: fc.constantFrom('active', 'unavailable'),
    currentVersionId: fc.constantFrom(newId('ver'), versionId),
    versionCount: fc.constant(2),
    publishedAt: fc.option(time),
    createdAt: fc.constant(idTimeMs(documentId)),
    observedAt: time,
    author: fc.option(
      fc.record({ nickname: text, follower_count: fc.integer(), extra: fc.dictionary(text, fc.boolean()) }),
    ),
    topics: list,
    tags: list,
    classifications: list,
    score: fc.option(fc.integer()),
  })
  const version: fc.Arbitrary<VersionRecord> = fc.record({
    versionId: fc.constant(versionId),
    title: fc.option(text),
    body: fc.option(text),
    language: fc.option(text),
    publishedAt: fc.option(time),
    createdAt: fc.constant(idTimeMs(versionId)),
  })
  const fields = fc.subarray([...fieldPermissions]).map((names) => new Set(names))
  fc.assert(
    fc.property(record, version, fields, (document, current, readable) => {
      const json = (value: object | null) => (value && Object.keys(value).length > 0 ? JSON.stringify(value) : null)
      const exported = {
        document_id: document.documentId,
        dataset_id: document.datasetId,
        source_platform: document.platform,
        external_id: document.externalId,
        url: document.url,
        title: document.title,
        content_type: document.contentType,
        language: document.language,
        region: document.region,
        status: document.status,
        current_version_id: document.currentVersionId,
        published_at: document.publishedAt,
        observed_at: document.observedAt,
        author: json(document.author),
        topics: json(document.topics),
        tags: json(document.tags),
        classifications: json(document.classifications),
        score: document.score,
      }
      const own = {
        version_id: current.versionId,
        version_title: current.title,
        version_language: current.language,
        version_published_at: current.publishedAt,
      }
      const content = contentText(exported, own, current.body, readable)
      const answers = {
        document: documentAnswer({ record: document, fields: readable }),
        content: contentAnswer(current, document, readable),
      }
      assert.equal(documentLine(exported, readable, content), `${JSON.stringify({ type: 'document', ...answers })}\n`)
      assert.equal(
        documentLine(exported, readable, null),
        `${JSON.stringify({ type: 'document', ...answers, content: null })}\n`,
      )
      assert.equal(versionLine(content), `${JSON.stringify({ type: 'version', content: answers.content })}\n`)
    }),
  )
})
