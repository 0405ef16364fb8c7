import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import { until } from '../../../test/support/until.ts'
import { Elections } from './elections.ts'

const silentAfterMs = 5000

/** The session that won an election in the database, and how long after its start it was last active. */
const holder = `
  select pid, extract(epoch from state_change - backend_start) * 1000 as spoke_after_ms
  from pg_stat_activity join pg_locks using (pid)
  where locktype = 'advisory' and datname = current_database()`

async function database(t: { after: (clean: () => Promise<unknown>) => void }) {
  const { url, remove } = await freshDatabase()
  const client = new pg.Client(url)
  await client.connect()
  t.after(async () => {
    await client.end()
    await remove()
  })
  return { url, client }
}

test('a process that hangs loses its election: another process wins it', async (t) => {
  const { url } = await database(t)
  const code = `
    const { Elections } = await import(${JSON.stringify(new URL('./elections.ts', import.meta.url).href)})
    console.log(await new Elections(process.argv[1], ${silentAfterMs}).has('vectors'))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [said] = await once(child.stdout, 'data')
  assert.equal(String(said).trim(), 'true')
  const other = new Elections(url, silentAfterMs)
  t.after(() => other.close())
  assert.equal(await other.has('vectors'), false)
  child.kill('SIGSTOP')
  await until('the other has it', () => other.has('vectors'))
})

test('an idle leader stays leader, because it sends heartbeats', async (t) => {
  const { url, client } = await database(t)
  // Long enough for a busy machine to send one of the heartbeats in time.
  const patientMs = 8000
  const elections = new Elections(url, patientMs)
  t.after(() => elections.close())
  assert.equal(await elections.has('feeding'), true)
  const [first] = (await client.query(holder)).rows
  await until('the session has lasted longer than the timeout', async () => {
    const [now] = (await client.query(holder)).rows
    assert.equal(now?.pid, first.pid)
    return now.spoke_after_ms > 1.2 * patientMs
  })
  assert.equal(await elections.has('feeding'), true)
})
