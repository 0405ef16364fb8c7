import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { copiedDocument } from '../../src/mirror/copied-document.ts'
import type { CopiedDocument, Copy, CopyPosition, SavedStep } from '../../src/mirror/copy.ts'

export interface CopyUnderTest {
  /** The same copy each time, as another run of the command finds it. */
  open(): Promise<Copy>
  remove(): Promise<void>
}

const positionAt = (changesCursor: string): CopyPosition => ({
  applicationId: 'app_1',
  entitlements: 'all',
  exportCursor: null,
  exportedThrough: '',
  changesCursor,
})

export const documentNamed = (id: string, fields: Readonly<Record<string, unknown>> = {}): CopiedDocument =>
  copiedDocument(
    {
      id,
      dataset_id: 'news',
      source_platform: 'rss',
      external_id: `of ${id}`,
      status: 'active',
      published_at: '0001-01-01T00:00:00.000Z',
      created_at: '2026-11-16T20:00:00.000Z',
      observed_at: '9999-12-31T23:59:59.999Z',
      author: { nickname: 'Zoë', extra: 1.5, external_author_id: null },
      tags: ['a', '"b"', 'c, d'],
      topics: [],
      score: 9_007_199_254_740_991,
      ...fields,
    },
    { version_id: `ver_${id}`, title: 'T', body: 'Line one\nLine two \\ "quoted" 🌊' },
  )

/** The contract of every kind of copy. */
export function checkMirrorCopy(name: string, make: () => Promise<CopyUnderTest>, runs: number): void {
  suite(`a mirror's copy: ${name}`, () => {
    const ids = Array.from({ length: 12 }, (_, i) => `doc_${String(i).padStart(2, '0')}`)
    const id = fc.constantFrom(...ids)
    // Excludes a name that the Parquet writer mistakes for the prototype. Real author fields have other names.
    const name = fc.string().filter((one) => one !== '__proto__')
    const document = fc.record({
      id,
      title: fc.option(fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\u0000', '\ufffd'))),
      tags: fc.array(fc.string()),
      score: fc.option(fc.integer()),
      author: fc.option(fc.dictionary(name, fc.oneof(fc.integer(), fc.string(), fc.boolean()))),
      published_at: fc.option(
        fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
      ),
    })
    const step = fc.record({
      documents: fc.uniqueArray(document, { selector: (one) => one.id, maxLength: 6 }),
      gone: fc.uniqueArray(id, { maxLength: 3 }),
      covers: fc.option(fc.tuple(id, fc.option(id))),
      isReopened: fc.boolean(),
    })

    test('holds what was saved, and how far that goes, whatever came before', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
          const kept = await make()
          let copy = await kept.open()
          const expected = new Map<string, CopiedDocument>()
          try {
            assert.equal(await copy.position(), null)
            for (const [i, { documents, gone, covers: range, isReopened }] of steps.entries()) {
              const covers = range === null ? undefined : { after: range[0], through: range[1] }
              const isCovered = (one: string) =>
                covers !== undefined && one > covers.after && (covers.through === null || one <= covers.through)
              const saved = documents.map(({ published_at, ...fields }) =>
                documentNamed(fields.id, { ...fields, published_at: published_at?.toISOString() }),
              )
              for (const one of [...expected.keys()].filter(isCovered)) expected.delete(one)
              for (const one of gone) expected.delete(one)
              for (const one of saved) expected.set(one.id, one)
              const next: SavedStep = { documents: saved, gone, position: positionAt(`cursor ${i}`) }
              await copy.save(covers === undefined ? next : { ...next, covers })
              if (isReopened) {
                await copy.close()
                copy = await kept.open()
              }
              assert.deepEqual(await copy.position(), next.position)
              assert.deepEqual(await everything(copy, 5), sorted(expected.values()))
              const some = ids.filter((_, at) => at % 2 === 0)
              assert.deepEqual(
                sorted(await copy.read([...some, 'doc_unknown'])),
                sorted(expected.values()).filter((one) => some.includes(one.id)),
              )
            }
          } finally {
            await copy.close()
            await kept.remove()
          }
        }),
        { numRuns: runs },
      )
    })

    test('a second mirror on the same copy is refused, and writes nothing', async () => {
      const kept = await make()
      const [first, second] = [await kept.open(), await kept.open()]
      try {
        const save = (copy: Copy, one: string) =>
          copy.save({ documents: [documentNamed(one)], gone: [], position: positionAt(one) })
        await save(first, 'doc_1')
        await assert.rejects(save(second, 'doc_2'), /another mirror writes to this copy/)
        await save(first, 'doc_3')
        const third = await kept.open()
        assert.deepEqual(await third.position(), positionAt('doc_3'))
        assert.deepEqual(await everything(third, 100), [documentNamed('doc_1'), documentNamed('doc_3')])
        await third.close()
      } finally {
        await Promise.all([first.close(), second.close()])
        await kept.remove()
      }
    })
  })
}

export async function everything(copy: Copy, most: number): Promise<CopiedDocument[]> {
  const found: CopiedDocument[] = []
  for (;;) {
    const portion = await copy.after(found.at(-1)?.id ?? '', most)
    if (portion.length === 0) return found
    found.push(...portion.map((one) => ({ ...one })))
  }
}

const sorted = (documents: Iterable<CopiedDocument>): CopiedDocument[] =>
  [...documents].map((one) => ({ ...one })).sort((a, b) => (a.id < b.id ? -1 : 1))
