import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { storageFull } from '../../platform/disk-space.ts'
import { TidemarkError } from '../../platform/errors.ts'
import { silentMeasures } from '../../platform/measures.ts'
import { oneAtATime } from '../../platform/one-at-a-time.ts'
import type { OpenOptions } from '../backend.ts'
import { RoomForWrites } from '../full-disk.ts'
import { type OpenStore, UnusableStoreError } from '../open-store.ts'
import { sqlHistoryStore } from '../sql/history-store.ts'
import { isTooNew, migrate, newestMigration, readSchema, refuseTooNew, type Schema } from '../sql/migrate.ts'
import { remoteStore } from '../sql/remote-store.ts'
import { type Store, sqlStore } from '../sql/sql-store.ts'
import { type NamedCall, nameOf } from '../sql/store-calls.ts'
import { type Connection, Connections, plan, sendTogether } from './connections.ts'
import { Elections } from './elections.ts'
import { ForeignWrites } from './foreign-writes.ts'
import { DatabaseSilent, LivenessCheck } from './liveness-check.ts'
import { postgresMigrationDialect, TextByBytes } from './migration-dialect.ts'
import { SchemaWatch } from './schema-watch.ts'
import { isConnectionLost, isFullDiskError, isTransient, OutcomeUnknown, withRetries } from './troubles.ts'
import { vacuum } from './vacuum.ts'
import { beginMigrating, beginWriting, hasLeaderCall } from './write-locks.ts'

/** One snapshot for all reads of a call. The server refuses writes. */
const beginReading = 'begin isolation level repeatable read read only'

export const oldestVersion = 140_000

/**
 * The store on PostgreSQL: a call of a port is one transaction on one connection. Any number of processes may have it
 * open. `write-locks.ts` orders their writes, and `sql/store-calls.ts` declares each call.
 */
export async function openPostgresStore(
  url: string,
  connectionsMax: number,
  { measures = silentMeasures, callers = 'many', stillUnavailable }: OpenOptions = {},
): Promise<OpenStore> {
  const connections = new Connections(url, connectionsMax)
  connections.measure(measures)
  connections.measureArchive(measures)
  const retried = measures.counter({
    name: 'tidemark_database_retries_total',
    help: 'Transactions that were repeated because of a conflict with others or a lost connection.',
    known: [{}],
  })
  const stores = new WeakMap<Connection, Store>()
  const processId = randomUUID()
  const foreign = new ForeignWrites(url, processId)
  let migrated: readonly string[]
  try {
    migrated = await onceReachable(() => bringUpToDate(connections, foreign.noticeOfSchema), url, stillUnavailable)
  } catch (error) {
    await connections.close()
    throw whyNotOpen(url, error)
  }
  const elections = new Elections(url)
  const schema = new SchemaWatch(async () => {
    const hasGone = isTooNew(await schemaIn(connections))
    // Another process, which can still work, can then be elected.
    if (hasGone) await elections.release()
    return hasGone
  }).start()
  const room = new RoomForWrites()
  const liveness = new LivenessCheck(url, () => connections.lastReplyAt, callers)
  const inFlight = { reading: { count: 0 }, writing: { count: 0 } }

  const transact = async (
    { port, method, write, byId }: NamedCall,
    args: readonly unknown[],
    attempt: Attempt,
  ): Promise<unknown> => {
    if (attempt.isAbandoned) throw new DatabaseSilent()
    const connection = await connections.take()
    let isSound = true
    try {
      if (attempt.isAbandoned) throw new DatabaseSilent()
      attempt.connection = connection
      const { client } = connection
      const work = () => methodOf(storeOn(connection), port, method)(...args)
      plan(connection, byId === null ? 'each time' : 'once')
      if (byId?.statements === 'one') return await withoutTransaction(connection, work)
      if (write === null) return await reading(client, work)
      await client.query(beginWriting(write))
      const result = await work()
      await commit(client, foreign.notice(write))
      return result
    } catch (error) {
      isSound = await rolledBack(connection, error)
      throw error
    } finally {
      attempt.connection = null
      connections.release(connection, isSound)
    }
  }

  const storeOn = (connection: Connection): Store => {
    let store = stores.get(connection)
    if (store === undefined) {
      store = { ...sqlStore(connection.db), history: sqlHistoryStore(connection.db, postgresMigrationDialect) }
      stores.set(connection, store)
    }
    return store
  }

  /**
   * Calls whose first lock is the same wait here for each other. Otherwise each would hold a connection while it waits.
   */
  const queues = new Map<string, ReturnType<typeof oneAtATime>>()
  const queueOf = (name: string): ReturnType<typeof oneAtATime> => {
    let queue = queues.get(name)
    if (queue === undefined) {
      queue = oneAtATime()
      queues.set(name, queue)
    }
    return queue
  }

  const perform = async (call: NamedCall, args: readonly unknown[]): Promise<unknown> => {
    if (schema.isTooNew) throw upgraded()
    const { write } = call
    // A command gets the longer limit, because no client waits for it.
    const since = callers === 'many' ? Date.now() : null
    const attempt: Attempt = { isAbandoned: false, connection: null }
    const work = () =>
      withRetries(
        () => transact(call, args, attempt),
        since,
        () => retried({}),
      )
    const unlessSilent = (working: Promise<unknown>) =>
      liveness.guard(working, () => {
        attempt.isAbandoned = true
        // Closing the connection properly would wait for outstanding replies.
        attempt.connection?.client.connection.stream.destroy()
      })
    const calls = write === null ? inFlight.reading : inFlight.writing
    calls.count++
    try {
      if (write === null) return await unlessSilent(work())
      const result = await unlessSilent(queueOf(write.locks[0])(work))
      room.written(nameOf(call))
      return result
    } catch (error) {
      if (isFullDiskError(error)) throw room.refused(nameOf(call), error)
      const isUnavailable = error instanceof OutcomeUnknown || error instanceof DatabaseSilent || isTransient(error)
      throw isUnavailable ? unavailable(error) : error
    } finally {
      calls.count--
    }
  }

  return {
    store: remoteStore(perform),
    migrated,
    condition: () => ({ ok: !schema.isTooNew, troubles: schema.isTooNew ? [upgradedByNewer] : [] }),
    load: () => ({ writer: inFlight.writing.count, readers: inFlight.reading.count }),
    isDiskFull: () => room.isFull,
    scrub: () => vacuum(url),
    elected: async (election) => !schema.isTooNew && (await elections.has(election)),
    async hasLeader(election) {
      const { held } = await queryOnce<{ held: boolean }>(connections, hasLeaderCall(election))
      return held
    },
    now: () => timeIn(connections),
    onForeignWrite(listener, incidents) {
      schema.reportTo(incidents)
      foreign.listen((about) => (about === 'schema' ? schema.check() : listener(about)), incidents)
    },
    notifications: null,
    async close() {
      schema.close()
      await elections.close()
      await foreign.close()
      await connections.close()
    },
  }
}

/**
 * A call in progress: its connection while it has one, and whether its caller has been told that the database is
 * silent.
 */
interface Attempt {
  isAbandoned: boolean
  connection: Connection | null
}

const upgradedByNewer = 'the store was upgraded by a newer version: start that version here'

const upgraded = (): TidemarkError => new TidemarkError('store_unavailable', upgradedByNewer, { retryAfterSeconds: 30 })

const unavailable = (cause: unknown): TidemarkError =>
  new TidemarkError('store_unavailable', 'the database cannot be used at the moment: try again soon', {
    retryAfterSeconds: 5,
    cause,
  })

/** The connection failed: the address without its password, and the message of the database or the network. */
export class UnreachableStoreError extends UnusableStoreError {
  constructor(url: string, cause: Error) {
    super(
      `the database ${withoutPassword(url)} cannot be used: ${cause.message || (cause as { code?: string }).code}`,
      {
        cause,
      },
    )
    this.name = 'UnreachableStoreError'
  }
}

export const asUnreachable = (url: string, error: unknown): unknown =>
  isConnectionLost(error) || isLoginError(error) ? new UnreachableStoreError(url, error as Error) : error

const whyNotOpen = (url: string, error: unknown): unknown =>
  isFullDiskError(error) ? storageFull(error) : asUnreachable(url, error)

export function withoutPassword(url: string): string {
  const parsed = URL.parse(url)
  return parsed === null ? 'of TIDEMARK_DATABASE_URL' : `${parsed.host}${parsed.pathname}`
}

/** Wrong user or password (class 28), or a missing database. */
function isLoginError(error: unknown): boolean {
  const { code } = error as { code?: string }
  return code === '3D000' || (code?.startsWith('28') ?? false)
}

type Method = (...args: readonly unknown[]) => Promise<unknown>

function methodOf(store: Store, port: keyof Store, method: string): Method {
  return (store[port] as unknown as Record<string, Method>)[method]!.bind(store[port])
}

/**
 * Sends the begin of the transaction together with the first statement, and does not wait for its end, so neither costs
 * a round trip. The next statement on the connection runs after the end. If the end fails, nothing is lost.
 */
async function reading<T>(client: pg.PoolClient, read: () => Promise<T>): Promise<T> {
  sendTogether(client)
  const [opened, answer] = await Promise.allSettled([client.query(beginReading), read()])
  if (opened.status === 'rejected') throw opened.reason
  if (answer.status === 'rejected') throw answer.reason
  client.query('commit').catch(() => {})
  return answer.value
}

/**
 * Runs one read without a transaction. Only this check of the sent statements guards against writes and a second
 * snapshot.
 */
async function withoutTransaction<T>({ sent }: Connection, read: () => Promise<T>): Promise<T> {
  const before = { ...sent }
  const answer = await read()
  if (sent.statements - before.statements > 1 || sent.others > before.others) {
    throw new Error('a call that is declared as one read sent a write or a second statement')
  }
  return answer
}

/** If the connection is lost after the commit was sent, the outcome is unknown. */
async function commit(client: pg.PoolClient, notice: string | null): Promise<void> {
  try {
    await client.query(notice === null ? 'commit' : `${notice}; commit`)
  } catch (error) {
    throw isConnectionLost(error) ? new OutcomeUnknown(error) : error
  }
}

/** Returns whether the connection can be used again. */
async function rolledBack({ client }: Connection, error: unknown): Promise<boolean> {
  if (error instanceof OutcomeUnknown || isConnectionLost(error)) return false
  return client.query('rollback').then(
    () => true,
    () => false,
  )
}

async function schemaIn(connections: Connections): Promise<Schema> {
  const connection = await connections.take()
  try {
    return await readSchema(connection.db, postgresMigrationDialect)
  } finally {
    connections.release(connection, true)
  }
}

async function timeIn(connections: Connections): Promise<number> {
  const statement = 'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now'
  return Number((await queryOnce<{ now: string }>(connections, statement)).now)
}

async function queryOnce<Row>(connections: Connections, statement: string): Promise<Row> {
  let connection: Connection | null = null
  try {
    connection = await connections.take()
    const { rows } = await connection.client.query(statement)
    connections.release(connection, true)
    return rows[0] as Row
  } catch (error) {
    if (connection !== null) connections.release(connection, false)
    throw unavailable(error)
  }
}

/** Reads the schema of the store in a database. Changes nothing. */
export async function postgresSchema(url: string): Promise<Schema> {
  const connections = new Connections(url, 1)
  try {
    return await schemaIn(connections)
  } catch (error) {
    throw whyNotOpen(url, error)
  } finally {
    await connections.close()
  }
}

export async function refuseOld(client: pg.ClientBase): Promise<void> {
  const version = Number((await client.query('show server_version_num')).rows[0].server_version_num)
  if (version < oldestVersion) {
    throw new Error(`PostgreSQL 14 or later is needed; this one is ${Math.floor(version / 10_000)}`)
  }
}

/** A table that exists while a copy into the database is unfinished. */
export const unfinishedCopy = 'unfinished_copy'

class UnfinishedCopyError extends UnusableStoreError {
  constructor() {
    super('the database is an unfinished copy: run tidemark copy again until it reports that the copy is complete')
    this.name = 'UnfinishedCopyError'
  }
}

/** A server that starts before its database waits until it is reachable. A wrong password or name fails at once. */
async function onceReachable<T>(
  open: () => Promise<T>,
  url: string,
  stillUnavailable: OpenOptions['stillUnavailable'],
): Promise<T> {
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (stillUnavailable === undefined || !isConnectionLost(error)) throw error
      stillUnavailable(new UnreachableStoreError(url, error as Error))
    }
  }
}

/** Notifies running processes, because a breaking migration ends their work. */
async function bringUpToDate(connections: Connections, notice: string): Promise<readonly string[]> {
  const connection = await withRetries(() => connections.take())
  const { client, db } = connection
  try {
    await refuseOld(client)
    if (await postgresMigrationDialect.hasTable(db, unfinishedCopy)) throw new UnfinishedCopyError()
    // This check takes no lock, because most starts find nothing to apply.
    const found = await readSchema(db, postgresMigrationDialect)
    refuseTooNew(found)
    if (found.newest >= newestMigration) return []
    await client.query(beginMigrating)
    try {
      const applied = await migrate(db.withPlugin(new TextByBytes()), postgresMigrationDialect, Date.now())
      await client.query(`${notice}; commit`)
      return applied
    } catch (error) {
      await client.query('rollback')
      throw error
    }
  } finally {
    connections.release(connection, true)
  }
}
