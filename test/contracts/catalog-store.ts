import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { fieldPermissions, readableFields, type Scope, type ScopeEntry } from '../../src/access/scope.ts'
import type { BrowseQuery, CatalogStore, DocumentRecord } from '../../src/catalog/catalog-store.ts'
import type { ContentStore, IncomingDocument } from '../../src/ingest/content-store.ts'
import type { OperatorStore } from '../../src/operator/operator-store.ts'
import { UnavailableError } from '../../src/platform/errors.ts'
import { sampleValues } from '../support/document-fields.ts'
import { datasets, expected, history, type Known, knownAfter, listing, worldStartMs } from './catalog-store-world.ts'

/** A fresh, empty store with the ports that fill it. */
export interface CatalogFixture {
  readonly catalog: CatalogStore
  readonly content: ContentStore
  readonly operator: OperatorStore
  close(): Promise<void>
}

const mark = { actor: 'test', at: worldStartMs }
const everything: ScopeEntry = {
  datasets,
  platforms: null,
  languages: null,
  regions: null,
  publishedFrom: null,
  publishedTo: null,
  fields: fieldPermissions,
}
const plain: BrowseQuery = {
  scope: { entries: [everything] },
  conditions: {},
  contentTypes: null,
  publishedFrom: null,
  publishedTo: null,
  createdFrom: null,
  createdTo: null,
  status: null,
  exact: null,
  before: null,
  limit: 1000,
  snapshot: false,
  answerBy: null,
}

const wide = { before: null, limit: 100 }

const document = (externalId: string, fields: Partial<IncomingDocument> = {}): IncomingDocument => ({
  datasetId: 'd1',
  platform: 'p1',
  externalId,
  body: `Body of ${externalId}`,
  ...fields,
})

/** The contract of every CatalogStore. `cases` is the number of random listings. */
export function checkCatalogStore(name: string, openStore: () => Promise<CatalogFixture>, cases: number): void {
  suite(`catalog store: ${name}`, () => {
    let store: CatalogFixture
    const idOf = new Map<string, string>()
    let clockMs = worldStartMs

    before(async () => {
      store = await openStore()
      await store.operator.commit(
        datasets.map((datasetId) => ({ kind: 'dataset.put', datasetId, name: datasetId, description: null })),
        mark,
      )
    })
    after(() => store.close())

    /** Each call is a minute after the previous one. */
    async function send(...documents: IncomingDocument[]): Promise<string[]> {
      clockMs += 60_000
      const results = await store.content.ingest(documents, clockMs)
      return results.map((result, i) => {
        assert.ok('documentId' in result)
        idOf.set(documents[i]!.externalId, result.documentId)
        return result.documentId
      })
    }
    const browse = async (query: Partial<BrowseQuery>): Promise<string[]> =>
      (await store.catalog.browse({ ...plain, ...query })).map(({ documentId }) => documentId)

    test('a document is read as it was written, with its current content and latest snapshot where asked', async () => {
      const [id] = await send(
        document('read', {
          ...sampleValues('property'),
          title: 'Title',
          observedAt: 6,
          score: -4,
          metrics: { likes: 2 },
          facts: [{ kind: 'category', level: 'document', metadata: { label_code: 'sport' } }],
        }),
      )
      const createdAt = clockMs
      const [record] = await store.catalog.documents([id!, 'doc_missing'], { snapshot: true })
      const { currentVersionId, snapshot, ...rest } = record!
      assert.deepEqual(rest, {
        ...sampleValues('property'),
        documentId: id,
        datasetId: 'd1',
        platform: 'p1',
        externalId: 'read',
        title: 'Title',
        versionCount: 1,
        createdAt,
        observedAt: 6,
        seenAt: 6,
        classifications: ['sport'],
        score: -4,
      })
      assert.deepEqual(await store.catalog.bodies([currentVersionId, 'ver_missing']), [
        { versionId: currentVersionId, body: 'Body of read' },
      ])
      assert.deepEqual(await store.catalog.bodies([]), [])
      assert.deepEqual(
        { ...snapshot, snapshotId: '' },
        { snapshotId: '', observedAt: 6, score: -4, metrics: { likes: 2 } },
      )
      const [bare] = await store.catalog.documents([id!], { snapshot: false })
      assert.ok(bare !== undefined && !('snapshot' in bare))
    })

    test('a version is readable by its own language, or the document’s where it has none, and by the document in all else', async () => {
      // The same title in another language is the same version.
      const said = [
        ['a', null],
        ['b', 'fr'],
        ['c', null],
        ['d', 'de'],
        ['d', 'it'],
        ['e', null],
        ['e', 'en'],
      ] as const
      let id = ''
      /** Newest first. */
      const model: { title: string; own: string | null }[] = []
      for (const [title, language] of said) {
        ;[id] = (await send(document('spoken', { title, language, region: 'GB', publishedAt: 5 }))) as [string]
        if (model[0]?.title === title) model[0].own = language
        else model.unshift({ title, own: language })
        for (const languages of [null, ['fr'], ['de'], ['it', 'en'], ['es']]) {
          const scope = {
            entries: [
              { ...everything, languages },
              { ...everything, regions: ['US'] },
              { ...everything, publishedFrom: 6 },
            ],
          }
          const open = model.filter(({ own }) => languages === null || languages.includes(own ?? language ?? ''))
          const versions = await store.catalog.versions(id, scope, { before: null, limit: 100 })
          assert.deepEqual(
            versions.map((version) => ({ title: version.title, own: version.language })),
            open,
          )
          assert.equal(await store.catalog.versionCount(id, scope), open.length)
          for (const [i, { versionId }] of versions.entries()) {
            const [next] = await store.catalog.versions(id, scope, { before: versionId, limit: 1 })
            assert.equal(next?.versionId, versions[i + 1]?.versionId)
          }
          const read = new Set(versions.map(({ versionId }) => versionId))
          for (const { versionId, title: of } of await store.catalog.versions(id, plain.scope, wide)) {
            assert.equal(
              (await store.catalog.version(id, versionId, scope))?.title,
              read.has(versionId) ? of : undefined,
            )
          }
          const current = await store.catalog.version(id, null, scope)
          assert.equal(current?.title, open.includes(model[0]!) ? title : undefined)
        }
      }
      const nowhere = { entries: [{ ...everything, regions: ['US'] }] }
      assert.deepEqual(await store.catalog.versions(id, nowhere, wide), [])
      assert.equal(await store.catalog.versionCount(id, nowhere), 0)
      assert.equal(await store.catalog.version(id, null, nowhere), null)
    })

    test('versions and snapshots are paged newest first, and a version belongs to its document', async () => {
      const [id] = await send(document('v', { title: 'a', score: 1 }))
      await send(document('v', { title: 'b', score: 2 }))
      await send(document('v', { title: 'c', score: 3 }))
      const versions = await store.catalog.versions(id!, plain.scope, { before: null, limit: 2 })
      assert.deepEqual(
        versions.map(({ title }) => title),
        ['c', 'b'],
      )
      assert.deepEqual(
        (await store.catalog.versions(id!, plain.scope, { before: versions[1]!.versionId, limit: 2 })).map(
          ({ title }) => title,
        ),
        ['a'],
      )
      assert.equal((await store.catalog.version(id!, null, plain.scope))!.title, 'c')
      assert.equal((await store.catalog.version(id!, versions[1]!.versionId, plain.scope))!.title, 'b')
      assert.equal(await store.catalog.version(idOf.get('read')!, versions[1]!.versionId, plain.scope), null)
      assert.equal(await store.catalog.version('doc_missing', null, plain.scope), null)
      const snapshots = await store.catalog.snapshots(id!, { before: null, limit: 2 })
      assert.deepEqual(
        snapshots.map(({ score }) => score),
        [3, 2],
      )
      assert.deepEqual(
        (await store.catalog.snapshots(id!, { before: snapshots[1]!.snapshotId, limit: 2 })).map(({ score }) => score),
        [1],
      )
    })

    test('a listing attaches the latest snapshot where asked, null where there is none', async () => {
      await send(document('s1', { tags: ['snap'], score: 1 }), document('s2', { tags: ['snap'] }))
      const found = await store.catalog.browse({ ...plain, conditions: { tags: ['snap'] }, snapshot: true })
      assert.deepEqual(
        found.map(({ externalId, snapshot }) => [externalId, snapshot?.score ?? null]),
        [
          ['s2', null],
          ['s1', 1],
        ],
      )
      assert.ok(!('snapshot' in (await store.catalog.browse({ ...plain, conditions: { tags: ['snap'] } }))[0]!))
    })

    test('a fact of an old version is no longer listed, one of the document is; so are changed tags', async () => {
      const facts = (level: 'document' | 'version') => [
        { kind: 'category', level, metadata: { label_code: `f-${level}` } },
      ]
      await send(
        document('f1', { facts: facts('version') }),
        document('f2', { facts: facts('document'), tags: ['old'] }),
      )
      assert.deepEqual(await browse({ conditions: { classifications: ['f-version', 'f-document'] } }), [
        idOf.get('f2'),
        idOf.get('f1'),
      ])
      await send(document('f1', { body: 'another' }), document('f2', { body: 'another', tags: ['new'] }))
      assert.deepEqual(await browse({ conditions: { classifications: ['f-version', 'f-document'] } }), [idOf.get('f2')])
      assert.deepEqual(await browse({ conditions: { tags: ['old'] } }), [])
      assert.deepEqual(await browse({ conditions: { tags: ['new'] } }), [idOf.get('f2')])
    })

    test('windows are half-open to the millisecond, scores closed', async () => {
      const [id] = await send(document('edge', { score: 10, publishedAt: 1000, tags: ['edge'] }))
      const at = clockMs
      const matches = async (query: Partial<BrowseQuery>) =>
        (await browse({ ...query, conditions: { tags: ['edge'], ...query.conditions } })).includes(id!)
      assert.ok(await matches({ createdFrom: at, createdTo: at + 1 }))
      assert.ok(!(await matches({ createdFrom: at + 1 })))
      assert.ok(!(await matches({ createdTo: at })))
      assert.ok(await matches({ publishedFrom: 1000, publishedTo: 1001 }))
      assert.ok(!(await matches({ publishedFrom: 1001 })))
      assert.ok(!(await matches({ publishedTo: 1000 })))
      assert.ok(await matches({ conditions: { score: { min: 10, max: 10 } } }))
      assert.ok(!(await matches({ conditions: { score: { min: 11, max: null } } })))
      assert.ok(!(await matches({ conditions: { score: { min: null, max: 9 } } })))
      assert.ok(await matches({ conditions: { score: { min: -1e300, max: 1e300 } } }))
    })

    test('a URL that many documents share is paged to its end, also where most of them are not readable', async () => {
      const url = 'https://a.example/shared'
      const hidden = Array.from({ length: 900 }, (_, i) => document(`h${i}`, { datasetId: 'd2', url }))
      const [last] = await send(document('shown', { url }))
      await send(...hidden.slice(0, 450))
      await send(...hidden.slice(450))
      const scope = { entries: [{ ...everything, datasets: ['d1'] }] }
      assert.deepEqual(await browse({ scope, exact: { text: url, platforms: null }, limit: 2 }), [last])
      const all = await browse({ exact: { text: url, platforms: null } })
      assert.equal(new Set(all).size, 901)
    })

    test('more values and datasets than anyone lists by hand are still exact', async () => {
      const [id] = await send(document('many', { tags: ['v17'], contentType: 'odd' }))
      const tags = Array.from({ length: 200 }, (_, i) => `v${i}`)
      const names = [...datasets, ...Array.from({ length: 997 }, (_, i) => `none${i}`)]
      const scope = { entries: [{ ...everything, datasets: names, languages: null }] }
      assert.deepEqual(await browse({ conditions: { tags }, scope }), [id])
      assert.deepEqual(await browse({ conditions: { tags }, contentTypes: ['odd', ...tags.slice(0, 150)], scope }), [
        id,
      ])
      const narrow = { entries: [{ ...everything, datasets: names, platforms: ['p1', ...tags.slice(0, 20)] }] }
      assert.deepEqual(await browse({ contentTypes: ['odd'], scope: narrow }), [id])
    })

    test('conditions that are common everywhere and meet only far down are found there, page by page', async () => {
      const both = Array.from({ length: 300 }, (_, i) => document(`m${i}`, { tags: ['meet-a'], topics: ['meet-b'] }))
      const wanted = await send(...both)
      for (let batch = 0; batch < 4; batch++) {
        const apart = Array.from({ length: 500 }, (_, i) =>
          document(`a${batch}-${i}`, i % 2 === 0 ? { tags: ['meet-a'] } : { topics: ['meet-b'] }),
        )
        await send(...apart)
      }
      const got: string[] = []
      for (let last: string | null = null; ; last = got.at(-1)!) {
        const page = await browse({ conditions: { tags: ['meet-a'], topics: ['meet-b'] }, limit: 7, before: last })
        got.push(...page)
        if (page.length < 7) break
      }
      assert.deepEqual(got, [...wanted].sort().reverse())
    })

    test('a listing that nobody waits for is given up', async () => {
      await assert.rejects(browse({ answerBy: Date.now() - 1 }), UnavailableError)
      assert.ok((await browse({ answerBy: Date.now() + 60_000 })).length > 0)
    })

    test('ingest times are those of the oldest and newest document that a scope opens', async () => {
      const all = await store.catalog.browse({ ...plain, limit: 100_000 })
      assert.ok(all.length > 1)
      const timesOf = (scope: Scope) => {
        const times = all.filter((one) => readableFields(scope, one) !== null).map(({ createdAt }) => createdAt)
        return times.length === 0 ? null : { earliest: Math.min(...times), latest: Math.max(...times) }
      }
      await fc.assert(
        fc.asyncProperty(listing, async ({ scope }) => {
          assert.deepEqual(await store.catalog.ingestTimes(scope), timesOf(scope))
        }),
        { numRuns: 100 },
      )
      const many = Array.from({ length: 200 }, (_, i) => `none${i}`)
      const wide = { entries: [{ ...everything, datasets: [...many, ...datasets] }] }
      assert.deepEqual(await store.catalog.ingestTimes(wide), timesOf(wide))
      assert.deepEqual(await store.catalog.ingestTimes({ entries: [] }), null)
    })

    test('a scope without entries opens nothing', async () => {
      assert.deepEqual(await browse({ scope: { entries: [] } }), [])
    })

    test('classifications: active ones of one dataset, by code, after a code', async () => {
      const put = (datasetId: string, code: string, active = true) =>
        ({
          kind: 'classification.put',
          datasetId,
          code,
          name: code,
          description: null,
          labelSchema: { a: [1] },
          active,
        }) as const
      await store.operator.commit(
        [put('d1', 'b'), put('d1', 'a'), put('d1', 'c', false), put('d1', 'B'), put('d2', 'a')],
        mark,
      )
      const page = await store.catalog.classifications('d1', null, 10)
      assert.deepEqual(
        page.map(({ code }) => code),
        ['B', 'a', 'b'],
      )
      assert.deepEqual(page[1], { code: 'a', name: 'a', description: null, labelSchema: { a: [1] } })
      assert.deepEqual(
        (await store.catalog.classifications('d1', 'B', 1)).map(({ code }) => code),
        ['a'],
      )
      assert.deepEqual(await store.catalog.classifications('d1', 'b', 10), [])
      assert.deepEqual(await store.catalog.classifications('none', null, 10), [])
    })
  })

  suite(`catalog store: ${name}, random listings against the rules stated a second time`, () => {
    test(`${cases} listings of a random history, each paged to its end`, async () => {
      const met = { empty: 0, some: 0, pages: 0, exact: 0 }
      const worlds = 3
      const pagesMax = 5
      for (let world = 0; world < worlds; world++) {
        const store = await openStore()
        try {
          await store.operator.commit(
            datasets.map((datasetId) => ({ kind: 'dataset.put', datasetId, name: datasetId, description: null })),
            mark,
          )
          const known = new Map<string, Known>()
          for (const { atMs, documents } of fc.sample(history(350), { numRuns: 1, seed: 7 + world })[0]!) {
            const results = await store.content.ingest(documents, atMs)
            results.forEach((result, i) => {
              assert.ok('documentId' in result)
              const { documentId } = result
              known.set(documentId, knownAfter(known.get(documentId), documents[i]!, documentId, atMs))
            })
          }
          const listings = fc.record({
            query: listing,
            limit: fc.constantFrom(1, 3, 20, 50, 201),
            // The first page starts at this share of the list, so that most of its pages are in the middle.
            start: fc.constantFrom(0, 0, 0.3, 0.9),
          })
          await fc.assert(
            fc.asyncProperty(listings, async ({ query, limit, start }) => {
              const whole = expected(known.values(), query)
              const first = Math.floor(whole.length * start)
              const wanted = whole.slice(first, first + pagesMax * limit)
              let last: string | null = first === 0 ? null : whole[first - 1]!
              const got: string[] = []
              for (let pages = 0; pages < pagesMax; pages++) {
                const page: readonly DocumentRecord[] = await store.catalog.browse({
                  ...plain,
                  ...query,
                  limit,
                  before: last,
                })
                got.push(...page.map(({ documentId }) => documentId))
                if (page.length > 0) met.pages++
                if (page.length < limit) break
                last = page.at(-1)!.documentId
              }
              assert.deepEqual(got, wanted)
              met[wanted.length === 0 ? 'empty' : 'some']++
              if (query.exact !== null && wanted.length > 0) met.exact++
            }),
            { numRuns: Math.ceil(cases / worlds) },
          )
        } finally {
          await store.close()
        }
      }
      assert.ok(
        Object.values(met).every((count) => count > cases / 300),
        `every kind must be met: ${JSON.stringify(met)}`,
      )
    })
  })
}
