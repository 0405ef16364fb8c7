import { closeSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { clearGap, pageBytesOf, unambiguousPagesMax } from './page-gaps.ts'
import { truncateLog } from './scrub.ts'

/**
 * Overwrites the gaps of all pages of the given database file, one batch of pages at a time. During a batch, no other
 * connection can write and the write-ahead log is empty, so the file has the newest state of every page. Reads
 * continue, because they ignore gaps.
 *
 * This runs in a process of its own, because closing the file would release all locks of the process on it.
 */
const bytesAtOnce = 16 * 2 ** 20
const triesMax = 100
const busyTimeoutMs = 10_000

const path = process.argv[2]!
const database = new DatabaseSync(path, { timeout: busyTimeoutMs })
const file = openSync(path, 'r+')
const head = Buffer.alloc(100)
readSync(file, head, 0, head.length, 0)
const pageBytes = pageBytesOf(head)
const portion = Buffer.alloc(bytesAtOnce)
const pages = (): number => Math.floor(statSync(path).size / pageBytes)
if (pages() > unambiguousPagesMax) database.exec('pragma temp_store = file; vacuum')
else for (let at = 0; at < pages() * pageBytes; at += bytesAtOnce) clearPortion(at)
truncateLog(database)
database.close()
closeSync(file)

function clearPortion(at: number): void {
  beginWithEmptyLog()
  const length = readSync(file, portion, 0, bytesAtOnce, at)
  let cleared = 0
  for (let start = 0; start + pageBytes <= length; start += pageBytes) {
    const page = portion.subarray(start, start + pageBytes)
    if (!clearGap(page, at + start === 0)) continue
    writeSync(file, page, 0, pageBytes, at + start)
    cleared++
  }
  if (cleared > 0) {
    fsyncSync(file)
    // This change makes every other connection drop its cached pages, with the contents of their gaps.
    const { user_version } = database.prepare('pragma user_version').get()!
    database.exec(`pragma user_version = ${user_version}`)
  }
  database.exec('commit')
}

function beginWithEmptyLog(): void {
  for (let tries = 0; tries < triesMax; tries++) {
    truncateLog(database)
    database.exec('begin immediate')
    const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
    if ((log?.size ?? 0) === 0) return
    // Another connection wrote between the checkpoint and the lock.
    database.exec('rollback')
  }
  throw new Error('the store is busy with writes: page gaps are cleared later')
}
