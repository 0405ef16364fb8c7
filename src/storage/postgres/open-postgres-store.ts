import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { storageFull } from '../../disk-space.ts'
import { TidemarkError } from '../../errors.ts'
import { silentMeasures } from '../../measures.ts'
import { oneAtATime } from '../../one-at-a-time.ts'
import type { OpenOptions } from '../backend.ts'
import { RoomForWrites } from '../full-disk.ts'
import { type OpenStore, UnusableStoreError } from '../open-store.ts'
import { isBeyond, migrate, newestMigration, readSchema, refuseBeyond, type Schema } from '../sql/migrate.ts'
import { remoteStore } from '../sql/remote-store.ts'
import { type Store, sqlStore } from '../sql/sql-store.ts'
import { type NamedCall, nameOf } from '../sql/store-calls.ts'
import { type Connection, Connections, plan, sendTogether } from './connections.ts'
import { Elections } from './elections.ts'
import { ForeignWrites } from './foreign-writes.ts'
import { postgresMigrationDialect, TextByBytes } from './migration-dialect.ts'
import { DatabaseSilent, Pulse } from './pulse.ts'
import { SchemaWatch } from './schema-watch.ts'
import { isConnectionLost, isFullDiskError, isPassing, OutcomeUnknown, withRetries } from './troubles.ts'
import { vacuum } from './vacuum.ts'
import { beginMigrating, beginWriting } from './write-locks.ts'

/** One snapshot for all that a call reads, and no write by mistake. */
const beginReading = 'begin isolation level repeatable read read only'

export const oldestVersion = 140_000

/**
 * The store on PostgreSQL: a call of a port is one transaction on one connection. Any number of processes may have it
 * open; `write-locks.ts` says what keeps them in order, `sql/store-calls.ts` what each call is.
 */
export async function openPostgresStore(
  url: string,
  connectionsMax: number,
  { measures = silentMeasures, callers = 'many' }: OpenOptions = {},
): Promise<OpenStore> {
  const connections = new Connections(url, connectionsMax)
  connections.measure(measures)
  const retried = measures.counter({
    name: 'tidemark_database_retries_total',
    help: 'Transactions begun again, because they gave way to others or lost their connection.',
    known: [{}],
  })
  const stores = new WeakMap<Connection, Store>()
  const processId = randomUUID()
  const foreign = new ForeignWrites(url, processId)
  let migrated: readonly string[]
  try {
    migrated = await bringUpToDate(connections, foreign.noticeOfSchema)
  } catch (error) {
    await connections.close()
    throw whyNotOpen(url, error)
  }
  const elections = new Elections(url)
  const schema = new SchemaWatch(async () => {
    const hasGone = isBeyond(await schemaIn(connections))
    // What one process does for all falls to one that still can.
    if (hasGone) await elections.release()
    return hasGone
  }).start()
  const room = new RoomForWrites()
  const pulse = new Pulse(url, () => connections.heardAt, callers)
  const under = { reading: { count: 0 }, writing: { count: 0 } }

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
      if (byId?.statements === 'one') return await withoutTransaction(connection, 1, work)
      if (byId?.statements === 'apart') return await withoutTransaction(connection, Number.POSITIVE_INFINITY, work)
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
      connections.giveBack(connection, isSound)
    }
  }

  const storeOn = (connection: Connection): Store => {
    let store = stores.get(connection)
    if (store === undefined) {
      store = sqlStore(connection.db)
      stores.set(connection, store)
    }
    return store
  }

  /** Calls that begin with the same lock wait for each other here, or each would hold a connection while it waits. */
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
    if (schema.isBeyond) throw upgraded()
    const { write } = call
    // Nobody waits for a command.
    const since = callers === 'many' ? Date.now() : null
    const attempt: Attempt = { isAbandoned: false, connection: null }
    const work = () =>
      withRetries(
        () => transact(call, args, attempt),
        since,
        () => retried({}),
      )
    const unlessSilent = (working: Promise<unknown>) =>
      pulse.guard(working, () => {
        attempt.isAbandoned = true
        // One that is ended in order waits for the answers that it is owed.
        attempt.connection?.client.connection.stream.destroy()
      })
    const calls = write === null ? under.reading : under.writing
    calls.count++
    try {
      if (write === null) return await unlessSilent(work())
      const result = await unlessSilent(queueOf(write.locks[0])(work))
      room.written(nameOf(call))
      return result
    } catch (error) {
      if (isFullDiskError(error)) throw room.refused(nameOf(call), error)
      const isAway = error instanceof OutcomeUnknown || error instanceof DatabaseSilent || isPassing(error)
      throw isAway ? unavailable(error) : error
    } finally {
      calls.count--
    }
  }

  return {
    store: remoteStore(perform),
    migrated,
    condition: () => ({ ok: !schema.isBeyond, troubles: schema.isBeyond ? [upgradedByNewer] : [] }),
    load: () => ({ writer: under.writing.count, readers: under.reading.count }),
    lacksRoom: () => room.isLacking,
    scrub: () => vacuum(url),
    elected: async (office) => !schema.isBeyond && (await elections.has(office)),
    now: () => timeIn(connections),
    onForeignWrite(listener, incidents) {
      schema.reportTo(incidents)
      foreign.listen((about) => (about === 'schema' ? schema.look() : listener(about)), incidents)
    },
    news: null,
    async close() {
      schema.close()
      await elections.close()
      await foreign.close()
      await connections.close()
    },
  }
}

/** A call under way: its connection while it has one, and whether its caller has been told that the database is silent. */
interface Attempt {
  isAbandoned: boolean
  connection: Connection | null
}

const upgradedByNewer = 'the store was upgraded by a newer version: start this process with it'

const upgraded = (): TidemarkError => new TidemarkError('store_unavailable', upgradedByNewer, { retryAfterSeconds: 30 })

const unavailable = (cause: unknown): TidemarkError =>
  new TidemarkError('store_unavailable', 'the database cannot be used at the moment: try again soon', {
    retryAfterSeconds: 5,
    cause,
  })

/** Where the way there is at fault: what was tried, without its password, and what the database or the network said. */
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

/** Wrong user or password (class 28), or no such database. */
function isLoginError(error: unknown): boolean {
  const { code } = error as { code?: string }
  return code === '3D000' || (code?.startsWith('28') ?? false)
}

type Method = (...args: readonly unknown[]) => Promise<unknown>

function methodOf(store: Store, port: keyof Store, method: string): Method {
  return (store[port] as unknown as Record<string, Method>)[method]!.bind(store[port])
}

/**
 * The transaction begins in one flight with the first statement, and its end is not waited for: neither costs a round trip.
 * Whoever has the connection next is answered after it; should it fail, nothing is lost by that.
 */
async function reading<T>(client: pg.PoolClient, read: () => Promise<T>): Promise<T> {
  sendTogether(client)
  const [begun, answer] = await Promise.allSettled([client.query(beginReading), read()])
  if (begun.status === 'rejected') throw begun.reason
  if (answer.status === 'rejected') throw answer.reason
  client.query('commit').catch(() => {})
  return answer.value
}

/** So nothing keeps it from writing, or one statement's call from a second snapshot, but this look at what it sent. */
async function withoutTransaction<T>({ sent }: Connection, statementsMax: number, read: () => Promise<T>): Promise<T> {
  const before = { ...sent }
  const answer = await read()
  if (sent.statements - before.statements > statementsMax || sent.others > before.others) {
    throw new Error('a call that is said to read without a transaction sent something else')
  }
  return answer
}

/** After this was sent, a lost connection no longer tells whether it was done. */
async function commit(client: pg.PoolClient, notice: string | null): Promise<void> {
  try {
    await client.query(notice === null ? 'commit' : `${notice}; commit`)
  } catch (error) {
    throw isConnectionLost(error) ? new OutcomeUnknown(error) : error
  }
}

/** Whether the connection can be used again. */
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
    connections.giveBack(connection, true)
  }
}

async function timeIn(connections: Connections): Promise<number> {
  let connection: Connection | null = null
  try {
    connection = await connections.take()
    const { rows } = await connection.client.query(
      'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now',
    )
    connections.giveBack(connection, true)
    return Number(rows[0].now)
  } catch (error) {
    if (connection !== null) connections.giveBack(connection, false)
    throw unavailable(error)
  }
}

/** The schema of the store in a database; only looks. */
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

/** A table that is there for as long as a copy into the database is not finished. */
export const unfinishedCopy = 'unfinished_copy'

class UnfinishedCopyError extends UnusableStoreError {
  constructor() {
    super(
      'the database is a copy that is not finished: run tidemark copy again, until it says that the copy is complete',
    )
    this.name = 'UnfinishedCopyError'
  }
}

/** Processes that run already hear of it: what was applied may be the end of their work. */
async function bringUpToDate(connections: Connections, notice: string): Promise<readonly string[]> {
  const connection = await withRetries(() => connections.take())
  const { client, db } = connection
  try {
    await refuseOld(client)
    if (await postgresMigrationDialect.hasTable(db, unfinishedCopy)) throw new UnfinishedCopyError()
    // Looking first takes no lock: most starts find nothing to do.
    const found = await readSchema(db, postgresMigrationDialect)
    refuseBeyond(found)
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
    connections.giveBack(connection, true)
  }
}
