import assert from 'node:assert/strict'
import { test } from 'node:test'
import { throwawayPostgres } from '../../scripts/throwaway-postgres.ts'
import { casesOf } from '../support/cases.ts'
import { checkFeed, summaryOf } from './feed-checker.ts'

test('three processes that answer, two that work, one database, all killed again and again: the feed has no hole', async () => {
  // Enough for several kills of every process and of the database. TEST_CASES makes it longer.
  const events = casesOf(2500, 2500)
  const postgres = await throwawayPostgres({ durable: false })
  try {
    const result = await checkFeed({
      events,
      writers: 8,
      seed: 20_261_115,
      changesAlive: [400, 1200],
      fleet: {
        databaseUrl: postgres.url,
        api: 3,
        workers: 2,
        killDatabase: () => postgres.crash(),
      },
    })
    const { text, good } = summaryOf(result)
    console.log(text)
    assert.ok(
      good,
      [text, ...result.faults, ...result.wrongReplays, ...result.copyFaults, ...result.entitledFaults].join('\n'),
    )
    assert.ok(result.events >= events && result.kills > 0 && result.replayed > 0)
    assert.ok(result.mirrorKills > 0 && result.erased > 0)
  } finally {
    await postgres.remove()
  }
})
