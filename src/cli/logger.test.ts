import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

const logger = JSON.stringify(new URL('./logger.ts', import.meta.url).href)
const run = (program: string): ChildProcessWithoutNullStreams =>
  spawn(process.execPath, ['--input-type=module-typescript', '-e', program])

test('a warning from Node is a log line, and nothing else is printed', async () => {
  const child = run(`
    import { logWarnings, makeLogger } from ${logger}
    logWarnings(makeLogger({ logLevel: 'info' }))
    setTimeout(() => {}, -1)
  `)
  const { level, msg, err } = JSON.parse(await text(child.stderr))
  assert.deepEqual([level, msg, err.message.includes('is a negative number')], [40, 'Node warns', true])
})

test('a line logged during a write is written too, even if no other follows', async (t) => {
  const child = run(`
    import { makeLogger } from ${logger}
    const log = makeLogger({ logLevel: 'info' })
    // More than a pipe holds: the write is pending until the other side reads.
    log.info('x'.repeat(1_000_000))
    log.info('the last line')
    setTimeout(() => console.log('its time to be written is over'), 500)
    setInterval(() => {}, 60_000)
  `)
  t.after(() => child.kill())
  await once(child.stdout, 'data')
  let received = ''
  for await (const part of child.stderr.setEncoding('utf8')) {
    received += part
    if (received.includes('the last line')) break
  }
  assert.match(received, /the last line/)
})

test('every line logged before the process ends is written, in order', async () => {
  const child = run(`
    import { makeLogger } from ${logger}
    const log = makeLogger({ logLevel: 'info' })
    // Some of it is being written when the process ends.
    for (let i = 0; i < 1000; i++) log.info({ i }, 'x'.repeat(100))
    process.exit()
  `)
  const lines = (await text(child.stderr)).trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).i),
    Array.from({ length: 1000 }, (_, i) => i),
  )
})

test('a slow reader gets all lines complete if the process waits for it at exit', async () => {
  const child = run(`
    import { allWritten, makeLogger } from ${logger}
    const log = makeLogger({ logLevel: 'info' })
    // With this stream, a write to a nearly full pipe is split.
    process.stderr.on('error', () => {})
    // Far more than a pipe holds.
    for (let i = 0; i < 4_000; i++) log.info({ i }, 'x'.repeat(100))
    // By then the pipe is full, and the write waits for room.
    await new Promise((resolve) => setTimeout(resolve, 200))
    console.log('it is full')
    await allWritten(log)
    process.exit()
  `)
  await once(child.stdout, 'data')
  const lines = (await text(child.stderr)).trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).i),
    Array.from({ length: 4_000 }, (_, i) => i),
  )
})

test('a stalled reader does not keep the process from exiting', async (t) => {
  const child = run(`
    import { allWritten, makeLogger } from ${logger}
    const log = makeLogger({ logLevel: 'info' })
    process.stderr.on('error', () => {})
    for (let i = 0; i < 4_000; i++) log.info({ i }, 'x'.repeat(100))
    await allWritten(log)
    process.exit(7)
  `)
  const late = setTimeout(() => child.kill('SIGKILL'), 60_000)
  t.after(() => clearTimeout(late))
  assert.deepEqual(await once(child, 'exit'), [7, null])
})

test('a process whose log cannot be written continues, and exits on request', {
  skip: !existsSync('/dev/full'),
}, async () => {
  const full = openSync('/dev/full', 'w')
  const program = `
    import { makeLogger } from ${logger}
    const log = makeLogger({ logLevel: 'info' })
    // Each is larger than the buffer, so the next write starts after the previous one has failed.
    for (let i = 0; i < 5; i++) {
      log.info('x'.repeat(20_000))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    console.log('goes on')
    process.exit(7)
  `
  const args = ['--input-type=module-typescript', '-e', program]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', full],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  closeSync(full)
  const ended = once(child, 'exit')
  assert.equal(await text(child.stdout!), 'goes on\n')
  assert.deepEqual(await ended, [7, null])
})
