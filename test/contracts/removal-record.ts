import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { erasurePartName, keyEntryName, type RemovalRecord } from '../../src/operator/removal-record.ts'
import { newId } from '../../src/platform/ids.ts'

/** Records of two instances, kept side by side. */
export interface RemovalPlace {
  readonly record: RemovalRecord
  readonly other: RemovalRecord
  /** Files that a process leaves when it dies while writing, and files of other tools. */
  readonly leave: (name: string) => Promise<void>
}

/** The contract of every RemovalRecord. */
export function checkRemovalRecord(name: string, makePlace: () => Promise<RemovalPlace>): void {
  suite(`record of removals: ${name}`, () => {
    let place: RemovalPlace
    before(async () => {
      place = await makePlace()
    })

    test('where nothing was kept there is nothing', async () => {
      assert.deepEqual(await place.record.names(), [])
      assert.equal(await place.record.read(erasurePartName(newId('ers'), 1, true)), null)
    })

    test('entries are read as they were written, by this instance alone; the same one can be written again', async () => {
      const { record, other } = place
      const erasureId = newId('ers')
      const entries = new Map([
        [erasurePartName(erasureId, 1, false), 'one'],
        [erasurePartName(erasureId, 2, true), JSON.stringify({ text: 'zwölf 漢字', long: 'x'.repeat(2 ** 20) })],
        [keyEntryName({ keyId: newId('key'), revokedAt: 5, expiresAt: null }), ''],
      ])
      for (const [entry, text] of entries) await record.write(entry, text)
      await record.write(erasurePartName(erasureId, 1, false), 'one')
      assert.deepEqual([...(await record.names())].sort(), [...entries.keys()].sort())
      for (const [entry, text] of entries) assert.equal(await record.read(entry), text)
      assert.deepEqual(await other.names(), [])
      assert.equal(await other.read(erasurePartName(erasureId, 1, false)), null)
    })

    test('what is no entry is none: it is not listed, and names no file', async () => {
      const { record, leave } = place
      const before = [...(await record.names())].sort()
      await leave(`${erasurePartName(newId('ers'), 1, true)}.0011.partial`)
      await leave('Notes.txt')
      assert.deepEqual([...(await record.names())].sort(), before)
      for (const bad of ['../elsewhere.json', 'a/b.json', '.json', '..json', 'Upper.json', 'x'.repeat(300)]) {
        await assert.rejects(async () => record.read(bad), /not the name/)
        await assert.rejects(async () => record.write(bad, 'x'), /not the name/)
      }
    })

    test('many entries are all listed', async () => {
      const names = Array.from({ length: 1100 }, (_, i) =>
        keyEntryName({ keyId: newId('tok'), revokedAt: i, expiresAt: i }),
      )
      for (let from = 0; from < names.length; from += 50) {
        await Promise.all(names.slice(from, from + 50).map((one) => place.other.write(one, '{}')))
      }
      assert.deepEqual([...(await place.other.names())].sort(), names.sort())
    })
  })
}
