import { UnavailableError } from '../platform/errors.ts'
import { isId } from '../platform/ids.ts'
import { formatTime, parseTime } from '../platform/time.ts'
import type { Removal } from './erasure-store.ts'
import type { Key } from './operator-store.ts'

/**
 * The port: the removals of an instance, stored apart from its store. A store that is restored to an earlier time does
 * not have later erasures and revocations; this record does. Entries are immutable. Their names alone show whether the
 * store has all of them:
 *
 *   ers_….1.json, ers_….2.last.json     the documents of an erasure, in parts; complete when the last part exists
 *   key_….REVOKED.EXPIRES.json          when a key was revoked and expires, in milliseconds, or `never`
 *   his_….empty.json                    the record was empty after the store went back in time;
 *                                       the record itself may have been lost
 */
export interface RemovalRecord {
  /** The location, to show to people. */
  readonly place: string
  names(): Promise<readonly string[]>
  /** Null if there is no such entry. Throws `DamagedEntry` if it exists but cannot be read. */
  read(name: string): Promise<string | null>
  /** Stores an entry as a whole. Resolves when it is on disk. The same entry may be written again. */
  write(name: string, entry: string): Promise<void>
  /** Returns why writing would fail, without writing; null if it should work. */
  unwritable(): Promise<{ readonly about: string; readonly advice: string } | null>
}

/** One entry is unusable: the others can be used, and an operator has to decide. The message contains no path. */
export class DamagedEntry extends UnavailableError {
  override name = 'DamagedEntry'
  /** Permission denied: the entry itself may be intact. */
  readonly isPermissionDenied: boolean

  constructor(
    message: string,
    { isPermissionDenied = false, ...options }: ErrorOptions & { isPermissionDenied?: boolean } = {},
  ) {
    super(message, options)
    this.isPermissionDenied = isPermissionDenied
  }
}

/** `about` is the problem, as a sentence. */
export const damagedEntry = (about: string, entryOrErasure: string, cause?: unknown): DamagedEntry =>
  new DamagedEntry(
    `${about}: restore the file, or delete ${entryOrErasure.split('.', 1)[0]}.*: then this erasure is not repeated, and documents that the store still has stay`,
    { cause },
  )

export const permissionDeniedEntry = (about: string, cause: unknown): DamagedEntry =>
  new DamagedEntry(`${about}: let the user of this process read it (chown), and keep it: it may be intact`, {
    cause,
    isPermissionDenied: true,
  })

/** The folder of all records, below the artifacts; each instance has its own folder in it. */
export const removalFolder = 'removals'

/** A part of an erasure takes about half a megabyte. */
export const entryBytesMax = 16 * 2 ** 20
export const documentsInPart = 5000

const entryName = /^[a-z0-9_]+(\.[a-z0-9]+)*\.json$/

/** Only a valid entry name becomes a path; other files are not entries. */
export const isEntryName = (name: string): boolean => entryName.test(name) && name.length < 200

export const erasurePartName = (erasureId: string, part: number, isLast: boolean): string =>
  `${erasureId}.${part}${isLast ? '.last' : ''}.json`

type Ends = Pick<Key, 'keyId' | 'revokedAt' | 'expiresAt'>

export const keyEntryName = ({ keyId, revokedAt, expiresAt }: Ends): string =>
  `${keyId}.${revokedAt ?? 'never'}.${expiresAt ?? 'never'}.json`

export const isRevokedOrExpiring = ({ revokedAt, expiresAt }: Ends): boolean => revokedAt !== null || expiresAt !== null

/**
 * The ID is that of the history begun when the store went back. Versions that do not know this kind of entry ignore it.
 */
export const emptyRecordEntry = (historyId: string): string => `${historyId}.empty.json`

type Named = { readonly erasureId: string; readonly part: number; readonly isLast: boolean } | { readonly end: Ends }

/** The subject of an entry; null if it is neither an erasure nor a key. */
export function parseName(name: string): Named | null {
  const [id, one, other, json] = name.split('.') as [string, ...(string | undefined)[]]
  if (isId('ers', id) && /^[1-9]\d{0,8}$/.test(one ?? '')) {
    if (other === 'json') return { erasureId: id, part: Number(one), isLast: false }
    if (other === 'last' && json === 'json') return { erasureId: id, part: Number(one), isLast: true }
  }
  if (!(isId('key', id) || isId('tok', id)) || json !== 'json') return null
  const [revokedAt, expiresAt] = [timeIn(one), timeIn(other)]
  if (revokedAt === undefined || expiresAt === undefined) return null
  return { end: { keyId: id, revokedAt, expiresAt } }
}

/** An erasure according to the names of its entries. */
export interface RecordedErasure {
  readonly erasureId: string
  /** In the order of the parts. */
  readonly names: readonly string[]
  /** The missing part as a sentence; null if the erasure is complete. */
  readonly missing: string | null
}

/** In the order of their ids. */
export function erasuresAmong(names: Iterable<string>): readonly RecordedErasure[] {
  const parts = new Map<string, { readonly name: string; readonly part: number; readonly isLast: boolean }[]>()
  for (const name of names) {
    const named = parseName(name)
    if (named === null || 'end' in named) continue
    const { erasureId, part, isLast } = named
    const known = parts.get(erasureId)
    if (known === undefined) parts.set(erasureId, [{ name, part, isLast }])
    else known.push({ name, part, isLast })
  }
  return [...parts.keys()].sort().map((erasureId) => {
    const inOrder = parts.get(erasureId)!.sort((a, b) => a.part - b.part)
    const there = new Set(inOrder.map(({ part }) => part))
    const gap = inOrder.findIndex((_, i) => !there.has(i + 1))
    const part =
      gap >= 0 && gap < there.size ? `part ${gap + 1}` : inOrder.some(({ isLast }) => isLast) ? null : 'the last part'
    return {
      erasureId,
      names: inOrder.map(({ name }) => name),
      missing: part && `${part} of the entries of ${erasureId} in the record of removals is missing`,
    }
  })
}

function timeIn(text: string | undefined): number | null | undefined {
  if (text === 'never') return null
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/** The content is for people. All data is in the name. */
export const keyEntry = ({ keyId, revokedAt, expiresAt }: Ends): string =>
  `${JSON.stringify({
    key_id: keyId,
    revoked_at: revokedAt === null ? null : formatTime(revokedAt),
    expires_at: expiresAt === null ? null : formatTime(expiresAt),
  })}\n`

export const partEntry = (removal: Removal): string =>
  `${JSON.stringify({
    erasure_id: removal.erasureId,
    actor: removal.actor,
    created_at: formatTime(removal.createdAt),
    keep_tombstones: removal.keepTombstones,
    purge_artifacts: removal.purgeArtifacts,
    artifact_run_ids: removal.artifactRunIds,
    tombstone_secret: removal.tombstoneSecret,
    documents: removal.documents.map(({ documentId, tombstone }) => [documentId, tombstone]),
  })}\n`

export function parsePart(name: string, entry: string): Removal {
  const damaged = (cause?: unknown) =>
    damagedEntry(`the entry ${name} of the record of removals is damaged`, name, cause)
  let read: Record<string, unknown>
  try {
    read = Object(JSON.parse(entry))
  } catch (error) {
    throw damaged(error)
  }
  const { erasure_id, actor, created_at, keep_tombstones, purge_artifacts, artifact_run_ids, tombstone_secret } = read
  const createdAt = typeof created_at === 'string' ? parseTime(created_at) : null
  const isValid =
    typeof erasure_id === 'string' &&
    name.startsWith(`${erasure_id}.`) &&
    typeof actor === 'string' &&
    createdAt !== null &&
    isListOf(artifact_run_ids, (id) => typeof id === 'string') &&
    isTextOrNull(tombstone_secret) &&
    isListOf(read.documents, (one) => Array.isArray(one) && isId('doc', String(one[0])) && isTextOrNull(one[1]))
  if (!isValid) throw damaged()
  return {
    ...{ erasureId: erasure_id, actor, createdAt },
    keepTombstones: keep_tombstones === true,
    purgeArtifacts: purge_artifacts === true,
    artifactRunIds: artifact_run_ids as string[],
    tombstoneSecret: tombstone_secret as string | null,
    documents: (read.documents as [string, string | null][]).map(([documentId, tombstone]) => ({
      documentId,
      tombstone,
    })),
  }
}

const isTextOrNull = (value: unknown): boolean => value === null || typeof value === 'string'

const isListOf = (value: unknown, isOne: (one: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isOne)
