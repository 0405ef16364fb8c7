/**
 * The checker of the change feed over many events: `--events N` (200000), `--writers N` (12), `--seed N`. Fails on any
 * event that is lost, repeated or out of order, and on any acknowledged document that cannot be read.
 */
import { parseArgs } from 'node:util'
import { checkFeed, summaryOf } from '../test/acceptance/feed-checker.ts'

export async function run(args: readonly string[]): Promise<void> {
  const options = {
    events: { type: 'string', default: '200000' },
    writers: { type: 'string', default: '12' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  } as const
  const { values } = parseArgs({ args: [...args], options })
  console.log(`seed ${values.seed}`)
  const startedMs = performance.now()
  let lastMs = 0
  const result = await checkFeed({
    events: Number(values.events),
    writers: Number(values.writers),
    seed: Number(values.seed),
    livesMs: [1000, 8000],
    report: (line) => {
      if (performance.now() - lastMs < 5000) return
      lastMs = performance.now()
      console.log(`${((lastMs - startedMs) / 1000).toFixed(0)} s: ${line}`)
    },
  })
  const { text, good } = summaryOf(result)
  console.log(`${text}; ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
  for (const fault of [...result.faults, ...result.wrongReplays]) console.error(fault)
  if (!good) throw new Error('the feed is at fault')
}
