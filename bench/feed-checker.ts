/**
 * The checker of the change feed over many events: `--events N` (200000), `--writers N` (12), `--seed N`. Fails on any
 * event that is lost, repeated or out of order, and on any acknowledged document that cannot be read. `--postgres` does
 * it with three processes that answer and two that work on one PostgreSQL, which is killed as well.
 */
import { parseArgs } from 'node:util'
import { type ThrowawayPostgres, throwawayPostgres } from '../scripts/throwaway-postgres.ts'
import { checkFeed, type Fleet, summaryOf } from '../test/acceptance/feed-checker.ts'
import { linesNowAndThen } from './support/lines-now-and-then.ts'

export async function run(args: readonly string[]): Promise<void> {
  const options = {
    events: { type: 'string', default: '200000' },
    writers: { type: 'string', default: '12' },
    postgres: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  } as const
  const { values } = parseArgs({ args: [...args], options })
  console.log(`seed ${values.seed}`)
  const startedMs = performance.now()
  const postgres = values.postgres ? await throwawayPostgres({ durable: true }) : null
  const result = await checkFeed({
    events: Number(values.events),
    writers: Number(values.writers),
    seed: Number(values.seed),
    changesAlive: [1000, 10_000],
    ...(postgres === null ? {} : { fleet: fleetOn(postgres) }),
    report: linesNowAndThen(),
  }).finally(() => postgres?.remove())
  const { text, good } = summaryOf(result)
  console.log(`${text}; ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
  for (const fault of [...result.faults, ...result.wrongReplays, ...result.copyFaults]) console.error(fault)
  if (!good) throw new Error('the feed is at fault')
}

const fleetOn = (postgres: ThrowawayPostgres): Fleet => ({
  databaseUrl: postgres.url,
  api: 3,
  workers: 2,
  killDatabase: () => postgres.crash(),
})
