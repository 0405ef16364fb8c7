import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { OpenParts } from './open-parts.ts'

interface LogLine {
  readonly err: Error
  readonly part: string
}

function watched() {
  const logged: LogLine[] = []
  const parts = new OpenParts({ error: (about: unknown) => void logged.push(about as LogLine) })
  const closed: string[] = []
  return { parts, logged, closed, close: (name: string) => async () => void closed.push(name) }
}

suite('open parts', () => {
  test('close in the reverse order of their opening, each after the one before has ended', async () => {
    const { parts, logged, closed, close } = watched()
    parts.opened('store', close('store'))
    parts.opened('index', async () => {
      await new Promise(setImmediate)
      await close('index')()
    })
    parts.opened('server', close('server'))
    await parts.handOver()()
    assert.deepEqual(closed, ['server', 'index', 'store'])
    assert.deepEqual(logged, [])
  })

  test('parts that fail or throw do not keep others from closing, and are named', async () => {
    const { parts, logged, closed, close } = watched()
    const rejected = new Error('rejected')
    const thrown = new Error('thrown')
    parts.opened('store', close('store'))
    parts.opened('index', () => Promise.reject(rejected))
    parts.opened('jobs', () => {
      throw thrown
    })
    parts.opened('server', close('server'))
    await assert.rejects(parts.handOver()(), /failed to close: jobs, index;/)
    assert.deepEqual(closed, ['server', 'store'])
    assert.deepEqual(logged, [
      { err: thrown, part: 'jobs' },
      { err: rejected, part: 'index' },
    ])
  })

  test('a part that hangs is abandoned after its time limit, and its later failure is ignored', async () => {
    const { parts, logged, closed, close } = watched()
    const hanging = Promise.withResolvers<void>()
    parts.opened('store', close('store'))
    parts.opened('index', () => hanging.promise, 1)
    await assert.rejects(parts.handOver()(), /index/)
    hanging.reject(new Error('too late'))
    await new Promise(setImmediate)
    assert.deepEqual(closed, ['store'])
    assert.equal(logged.length, 1)
    assert.equal(logged[0]!.part, 'index')
    assert.match(logged[0]!.err.message, /did not close within 1 ms/)
  })

  test('a scope that fails closes what was opened, and rejects with its own error', async () => {
    const { parts: made, logged, closed, close } = watched()
    const fault = new Error('the start failed')
    await assert.rejects(
      (async () => {
        await using parts = made
        parts.opened('store', close('store'))
        parts.opened('index', () => Promise.reject(new Error('and the index too')))
        throw fault
      })(),
      (error) => error === fault,
    )
    assert.deepEqual(closed, ['store'])
    assert.deepEqual(
      logged.map(({ part }) => part),
      ['index'],
    )
  })

  test('a scope that hands over closes nothing', async () => {
    const { parts: made, closed, close } = watched()
    const end = await (async () => {
      await using parts = made
      parts.opened('store', close('store'))
      return parts.handOver()
    })()
    assert.deepEqual(closed, [])
    await end()
    assert.deepEqual(closed, ['store'])
  })
})
