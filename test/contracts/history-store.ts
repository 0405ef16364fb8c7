import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Store } from '../../src/storage/sql/sql-store.ts'
import { makeDatasets, plain } from './content-store.ts'

type Fixture = Pick<Store, 'history' | 'content' | 'operator' | 'changes' | 'indexSource'> & { close(): Promise<void> }

/**
 * The contract of every HistoryStore. Marks of a lost time are made up: a position that was never used, or another
 * event at a position.
 */
export function checkHistoryStore(name: string, open: () => Promise<Fixture>): void {
  suite(`history: ${name}`, () => {
    test('a mark of what the store has fits; a mark of what it has lost is reported once, and positions continue above it', async () => {
      const store = await open()
      try {
        const { history, content, changes } = store
        const empty = await history.mark()
        assert.deepEqual([empty.lastEvent, empty.historyId, await history.lastLoss()], [null, null, null])
        await makeDatasets(store.operator)
        await content.ingest([plain('a'), plain('b')], 1)
        const mark = await history.mark()
        await content.ingest([plain('c')], 2)
        for (const known of [empty, mark, await history.mark()]) {
          assert.equal(await history.lacks(known), null)
          assert.equal(await history.startNewHistory(known, 3), null)
        }
        assert.equal(await history.lacks({ ...mark, instance: 'aud_another' }), null)

        const { sequence, mark: hash } = mark.lastEvent!
        const beyond = { ...mark, lastEvent: { sequence: sequence + 1000, mark: hash } }
        assert.match((await history.lacks(beyond))!, /^its last event was 1002, and is now 3$/)
        assert.match(
          (await history.lacks({ ...mark, lastEvent: { sequence, mark: 'x' } }))!,
          /^event 2 is now a different event$/,
        )
        assert.match(
          (await history.lacks({ ...mark, lastAudit: 'aud_none' }))!,
          /^the entry aud_none is missing from its audit log$/,
        )
        assert.match(
          (await history.lacks({ ...mark, historyId: 'his_none' }))!,
          /^the record of an earlier loss is missing$/,
        )

        const found = (await history.startNewHistory(beyond, 4))!
        assert.deepEqual(await history.lastLoss(), found)
        assert.equal((await history.mark()).historyId, found.historyId)
        // Another process with the same mark finds that the loss has been handled.
        assert.equal(await history.startNewHistory(beyond, 5), null)
        await content.ingest([plain('d')], 6)
        const { newest } = await changes.state()
        assert.ok(newest > 1_000_000_000 + 1002, String(newest))

        const revision = await store.indexSource.newestRevision()
        assert.equal(await history.startNewHistory({ indexedThrough: revision }, 7), null)
        assert.match(
          (await history.startNewHistory({ indexedThrough: revision + 1 }, 8))!.why,
          /the search index has revision/,
        )
        await content.ingest([plain('e')], 9)
        assert.ok((await changes.state()).newest > newest + 1_000_000_000)
      } finally {
        await store.close()
      }
    })

    test('what retention has removed is no loss', async () => {
      const store = await open()
      try {
        const { history, content, changes } = store
        await makeDatasets(store.operator)
        await content.ingest([plain('a')], 1)
        const mark = await history.mark()
        await content.ingest([plain('b')], 100)
        assert.equal(await changes.removeBefore(50, 10), 1)
        assert.equal(await history.lacks(mark), null)
        assert.equal(await changes.removeBefore(500, 10), 1)
        assert.equal(await history.lacks(mark), null)
      } finally {
        await store.close()
      }
    })
  })
}
