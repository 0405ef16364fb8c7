import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backupName } from './backup-manifest.ts'
import { keepBackingUp } from './keep-backing-up.ts'

const minute = 60_000
const hour = 60 * minute
const startAt = Date.UTC(2026, 10, 16, 12)

/** Runs the schedule with a fake clock, and records its events with their times in minutes. */
async function run(
  parts: { everyMs: number; forMs: number; made?: number[]; fails?: (nowMs: number) => boolean },
  happened: string[] = [],
): Promise<readonly string[]> {
  let now = startAt
  const made = [...(parts.made ?? [])]
  const at = () => `${(now - startAt) / minute}`
  await keepBackingUp({
    place: { names: async () => made.map(backupName) },
    everyMs: parts.everyMs,
    backUp: async () => {
      if (parts.fails?.(now)) throw new Error('the storage is unavailable')
      made.push(now)
      happened.push(`${at()} made`)
      now += 2 * minute
    },
    now: () => now,
    sleep: async (ms) => {
      now += ms
    },
    isEnding: () => now >= startAt + parts.forMs,
    scheduled: (dueAt) => happened.push(`${at()} awaits ${(dueAt - startAt) / minute}`),
    failed: (_, againInMs) => happened.push(`${at()} failed, again in ${againInMs / minute}`),
  })
  return happened
}

test('a backup is made at once, and then at the interval, counted from the start of each backup', async () => {
  const happened = await run({ everyMs: 30 * minute, forMs: 65 * minute })
  assert.deepEqual(happened, ['0 made', '2 awaits 30', '30 made', '32 awaits 60', '60 made', '62 awaits 90'])
})

test('an earlier backup delays the next one, which is announced once', async () => {
  const made = [startAt - hour]
  assert.deepEqual(await run({ everyMs: 48 * hour, forMs: 72 * hour, made }), [
    '0 awaits 2820',
    '2820 made',
    '2822 awaits 5700',
  ])
})

test('a failed backup is retried within 5 minutes, and sooner if one is due sooner', async () => {
  const fails = (now: number) => now < startAt + 9 * minute
  assert.deepEqual(await run({ everyMs: 24 * hour, forMs: hour, fails }), [
    '0 failed, again in 5',
    '5 failed, again in 5',
    '10 made',
    '12 awaits 1450',
  ])
  assert.deepEqual(await run({ everyMs: minute, forMs: minute, fails }), ['0 failed, again in 1'])
})
