import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { OpenParts } from './open-parts.ts'

interface Told {
  readonly err: Error
  readonly part: string
}

function watched() {
  const told: Told[] = []
  const parts = new OpenParts({ error: (about: unknown) => void told.push(about as Told) })
  const closed: string[] = []
  return { parts, told, closed, close: (name: string) => async () => void closed.push(name) }
}

suite('open parts', () => {
  test('close in the reverse order of their opening, each after the one before has ended', async () => {
    const { parts, told, closed, close } = watched()
    parts.opened('store', close('store'))
    parts.opened('index', async () => {
      await new Promise(setImmediate)
      await close('index')()
    })
    parts.opened('server', close('server'))
    await parts.handOver()()
    assert.deepEqual(closed, ['server', 'index', 'store'])
    assert.deepEqual(told, [])
  })

  test('a part that fails, and one that throws at once, keep no other open; both are named', async () => {
    const { parts, told, closed, close } = watched()
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
    assert.deepEqual(told, [
      { err: thrown, part: 'jobs' },
      { err: rejected, part: 'index' },
    ])
  })

  test('a part that hangs is abandoned after its time limit, and its later failure is ignored', async () => {
    const { parts, told, closed, close } = watched()
    const hanging = Promise.withResolvers<void>()
    parts.opened('store', close('store'))
    parts.opened('index', () => hanging.promise, 1)
    await assert.rejects(parts.handOver()(), /index/)
    hanging.reject(new Error('too late'))
    await new Promise(setImmediate)
    assert.deepEqual(closed, ['store'])
    assert.equal(told.length, 1)
    assert.equal(told[0]!.part, 'index')
    assert.match(told[0]!.err.message, /did not close within 1 ms/)
  })

  test('a scope that fails closes what was opened, and its own error is the one that is seen', async () => {
    const { parts: made, told, closed, close } = watched()
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
      told.map(({ part }) => part),
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
