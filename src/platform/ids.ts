import { createHash, randomFillSync } from 'node:crypto'

/**
 * Opaque IDs with a prefix, which sort by creation time: prefix, 10 characters of milliseconds, 16 random characters,
 * in Crockford's base 32 (lower case). IDs of one process within a millisecond also ascend, because the random part is
 * then incremented and not drawn again.
 *
 * The time in an ID is exact, and other code relies on it: a document's first ingest is the time in its ID, so that
 * "newest first" is one ordinary key (see `firstIdAt`).
 */
export type IdPrefix =
  | 'doc'
  | 'ver'
  | 'chk'
  | 'clu'
  | 'evt'
  | 'snp'
  | 'fct'
  | 'sig'
  | 'run'
  | 'art'
  | 'sub'
  | 'lq'
  | 'lqr'
  | 'task'
  | 'lease'
  | 'app'
  | 'key'
  | 'tok'
  | 'ent'
  | 'col'
  | 'aud'
  | 'ers'
  | 'his'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const timeLength = 10
const randomLength = 16
const pool = new Uint8Array(4096)
let poolUsed = pool.length

const randomPart = new Uint8Array(randomLength)
let lastTimeMs = -1
let lastTimeText = ''

function drawRandomPart(): void {
  if (poolUsed + randomLength > pool.length) {
    randomFillSync(pool)
    poolUsed = 0
  }
  for (let i = 0; i < randomLength; i++) randomPart[i] = pool[poolUsed + i]! & 31
  // Leaves room to increment within the millisecond without an overflow.
  randomPart[0]! &= 15
  poolUsed += randomLength
}

function incrementRandomPart(): void {
  for (let i = randomLength - 1; i >= 0; i--) {
    if (randomPart[i]! < 31) {
      randomPart[i]!++
      return
    }
    randomPart[i] = 0
  }
}

function timeText(timeMs: number): string {
  let rest = timeMs
  let text = ''
  for (let i = 0; i < timeLength; i++) {
    text = alphabet[rest % 32]! + text
    rest = Math.floor(rest / 32)
  }
  return text
}

export function newId(prefix: IdPrefix, atMs: number = Date.now()): string {
  // A time before 1970 cannot be encoded.
  const timeMs = Math.max(0, atMs)
  if (timeMs === lastTimeMs) incrementRandomPart()
  else {
    drawRandomPart()
    lastTimeMs = timeMs
    lastTimeText = timeText(timeMs)
  }
  let text = `${prefix}_${lastTimeText}`
  for (let i = 0; i < randomLength; i++) text += alphabet[randomPart[i]!]
  return text
}

/** Returns the millisecond in which an ID was made. */
export function idTimeMs(id: string): number {
  const start = id.indexOf('_') + 1
  let timeMs = 0
  for (let i = start; i < start + timeLength; i++) timeMs = timeMs * 32 + alphabet.indexOf(id[i]!)
  return timeMs
}

/** Returns the smallest text that sorts at or above every ID of that prefix made at or after that millisecond. */
export function firstIdAt(prefix: IdPrefix, timeMs: number): string {
  return `${prefix}_${timeText(Math.max(0, timeMs))}`
}

const idShape = /^[a-z]+_[0-9a-hjkmnp-tv-z]{26}$/

export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && idShape.test(text)
}

/** Returns an ID that depends only on its arguments: the same time and seed always give the same ID. */
export function derivedId(prefix: IdPrefix, timeMs: number, seed: string): string {
  const digest = createHash('sha256').update(seed).digest()
  let text = `${prefix}_${timeText(timeMs)}`
  for (let i = 0; i < randomLength; i++) text += alphabet[digest[i]! & 31]
  return text
}
