import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

test('a line that is said while another is being written is written too, though nothing follows it', async (t) => {
  const program = `
    import { makeLogger } from ${JSON.stringify(new URL('./logger.ts', import.meta.url).href)}
    const log = makeLogger({ logLevel: 'info' })
    // More than a pipe holds: it is being written until somebody reads.
    log.info('x'.repeat(1_000_000))
    log.info('the last line')
    setTimeout(() => console.log('its time to be written is over'), 500)
    setInterval(() => {}, 60_000)
  `
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program])
  t.after(() => child.kill())
  await once(child.stdout, 'data')
  let said = ''
  for await (const text of child.stderr.setEncoding('utf8')) {
    said += text
    if (said.includes('the last line')) break
  }
  assert.match(said, /the last line/)
})
