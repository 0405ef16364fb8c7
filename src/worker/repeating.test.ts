import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { repeat } from './repeating.ts'

/** Counts what is logged. */
function listener(): { logger: FastifyBaseLogger; lines: string[] } {
  const lines: string[] = []
  const log = (level: string) => (_: unknown, message: string) => lines.push(`${level}: ${message}`)
  return { logger: { info: log('info'), warn: log('warn') } as unknown as FastifyBaseLogger, lines }
}

const eventually = async (condition: () => boolean): Promise<void> => {
  const until = performance.now() + 5000
  while (!condition()) {
    assert.ok(performance.now() < until, 'never')
    await sleep(2)
  }
}

suite('a repeating job', () => {
  test('goes on at once while there is more, then pauses until it is woken', async () => {
    let left = 5
    let turns = 0
    const job = repeat(
      'j',
      60_000,
      async () => {
        turns++
        return --left > 0
      },
      listener().logger,
    )
    await eventually(() => turns === 5)
    await sleep(30)
    assert.equal(turns, 5)
    left = 2
    job.wake()
    await eventually(() => turns === 7)
    await job.stop()
  })

  test('woken in the middle of a turn, it takes another', async () => {
    let turns = 0
    const gate = Promise.withResolvers<void>()
    const job = repeat(
      'j',
      60_000,
      async () => {
        turns++
        if (turns === 1) await gate.promise
        return false
      },
      listener().logger,
    )
    await eventually(() => turns === 1)
    job.wake()
    gate.resolve()
    await eventually(() => turns === 2)
    await job.stop()
  })

  test('never twice at once, and a stop waits for the turn under way', async () => {
    let running = 0
    let most = 0
    const job = repeat(
      'j',
      1,
      async () => {
        most = Math.max(most, ++running)
        await sleep(20)
        running--
        return true
      },
      listener().logger,
    )
    for (let i = 0; i < 10; i++) {
      job.wake()
      await sleep(3)
    }
    await job.stop()
    assert.equal(running, 0)
    assert.equal(most, 1)
  })

  test('a failure is said once, and so is its end', async () => {
    let turns = 0
    const { logger, lines } = listener()
    const job = repeat(
      'j',
      1,
      async () => {
        if (++turns <= 3) throw new Error('down')
        return false
      },
      logger,
    )
    await eventually(() => turns >= 4)
    await job.stop()
    assert.deepEqual(
      lines.map((line) => line.split(':')[0]),
      ['warn', 'info'],
    )
  })

  test('the pauses after failures grow, however often it is woken', async () => {
    let turns = 0
    const job = repeat(
      'j',
      10,
      async () => {
        turns++
        throw new Error('down')
      },
      listener().logger,
    )
    const until = performance.now() + 300
    while (performance.now() < until) {
      job.wake()
      await sleep(5)
    }
    await job.stop()
    // After 20, 60, 140 and 300 ms.
    assert.ok(turns <= 6, `${turns} turns`)
  })
})
