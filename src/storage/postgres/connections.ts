import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { Measures } from '../../platform/measures.ts'
import type { Tables } from '../sql/tables.ts'
import { CopyingAdapter } from './copying-adapter.ts'

/** The maximum number of texts to prepare. Listings have many forms, and rare ones are not worth preparing. */
const preparedMax = 300
const preparedCharactersMax = 20_000

const connectWithinMs = 5000

/**
 * When a statement is planned. A generic plan does not suit listings, because common and rare values need different
 * plans. Reads by id always use the indexes of ids, so one generic plan saves planning, which takes longer than reading
 * a page of results. That plan may be made while the tables are empty, so plans without the indexes are disabled.
 */
type Planned = 'each time' | 'once'
const planSettings = (planned: Planned): string => {
  const [mode, others] = planned === 'once' ? ['force_generic_plan', 'off'] : ['force_custom_plan', 'on']
  return [
    `set plan_cache_mode = ${mode}`,
    ...['seqscan', 'hashjoin', 'mergejoin'].map((way) => `set enable_${way} = ${others}`),
  ].join('; ')
}

/**
 * The first statements on every connection. No lock may be held for long. A process that hangs during a transaction
 * would block every writer of the instance, so the server ends such a transaction, and detects a lost peer.
 */
const sessionSettings = `
  set statement_timeout = '60s';
  set lock_timeout = '30s';
  set idle_in_transaction_session_timeout = '10s';
  set tcp_keepalives_idle = 10;
  set tcp_keepalives_interval = 5;
  set tcp_keepalives_count = 3;
  set synchronous_commit = on;
  ${planSettings('each time')};
  set client_encoding = 'UTF8';
  set jit = off`

/** 64-bit integers are counts, times and positions here, all far below 2^53. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig

/** A connection with the queries that run on it. */
export interface Connection {
  readonly client: pg.PoolClient
  readonly db: Kysely<Tables>
  /** How many statements `db` has sent, and how many of them were not selects. */
  readonly sent: { statements: number; others: number }
  /** The current setting of the session. */
  planned: Planned
}

/** A pool of connections to one database, opened on demand. */
export class Connections {
  #pool: pg.Pool
  #known = new WeakMap<pg.PoolClient, Connection>()
  #lastReplyAt = 0

  constructor(url: string, most: number) {
    // Statements are pipelined: one is sent without waiting for earlier replies.
    this.#pool = new pg.Pool({ ...clientSettings(url), max: most, pipeline: true })
    // The pool replaces a connection that breaks while idle. If one breaks in use, its query fails.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', (client) => {
      client.on('error', () => {})
      client.connection.stream.on('data', () => {
        this.#lastReplyAt = performance.now()
      })
    })
  }

  /** When the database last sent anything on any connection, in milliseconds of `performance.now()`. */
  get lastReplyAt(): number {
    return this.#lastReplyAt
  }

  measure(measures: Measures): void {
    const help = 'Connections in use and idle, calls waiting for one, and the maximum.'
    measures.gauge({ name: 'tidemark_database_connections', help, labels: ['state'] }, () => {
      const { totalCount, idleCount, waitingCount, options } = this.#pool
      const counts = { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount, most: options.max }
      return Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }))
    })
  }

  /**
   * The state of PostgreSQL's archive, if it has one. Without an archive, a database can only be restored from its last
   * dump.
   */
  measureArchive(measures: Measures): void {
    const text = `select extract(epoch from now() - last_archived_time)::float8 as age,
      last_failed_time > coalesce(last_archived_time, '-infinity') as fails
      from pg_stat_archiver where current_setting('archive_mode') <> 'off'`
    measures.gauges(
      {
        tidemark_database_archive_age_seconds:
          'Seconds since PostgreSQL last archived a WAL segment; absent without an archive.',
        tidemark_database_archive_failing:
          '1 if the last attempt to archive a WAL segment failed, 0 otherwise; absent without an archive.',
      },
      async () => {
        const [row] = (await this.#pool.query<{ age: number | null; fails: boolean | null }>(text)).rows
        return {
          tidemark_database_archive_age_seconds: row?.age ?? null,
          tidemark_database_archive_failing: row === undefined ? null : Number(row.fails ?? false),
        }
      },
    )
  }

  async take(): Promise<Connection> {
    const client = await this.#pool.connect()
    const known = this.#known.get(client)
    if (known !== undefined) return known
    try {
      await client.query(sessionSettings)
    } catch (error) {
      client.release(true)
      throw error
    }
    const sent = { statements: 0, others: 0 }
    const connection: Connection = { client, db: queriesOn(client, sent), sent, planned: 'each time' }
    this.#known.set(client, connection)
    return connection
  }

  /** Closes the connection if it is not sound, because its state is then unknown. */
  release({ client }: Connection, isSound: boolean): void {
    client.release(!isSound)
  }

  close(): Promise<void> {
    return this.#pool.end()
  }
}

/**
 * Sets when statements are planned, from the next one on. The setting is sent only if it changes, together with that
 * statement, without waiting for the reply.
 */
export function plan(connection: Connection, planned: Planned): void {
  if (connection.planned === planned) return
  connection.planned = planned
  sendTogether(connection.client)
  // If this fails, the statement sent after it fails too and reports the error.
  connection.client.query(planSettings(planned)).catch(() => {})
}

/** Buffers everything that is sent until the next tick, so that it is written to the network at once. */
export function sendTogether({ connection: { stream } }: pg.PoolClient): void {
  stream.cork()
  process.nextTick(() => stream.uncork())
}

/** A connection outside the pool, for long use: listening, and leading elections. */
export async function connectAlone(url: string): Promise<pg.Client> {
  const client = new pg.Client(clientSettings(url))
  client.on('error', () => {})
  await client.connect()
  await client.query(sessionSettings)
  return client
}

export const clientSettings = (url: string) => ({
  connectionString: url,
  application_name: 'tidemark',
  connectionTimeoutMillis: connectWithinMs,
  keepAlive: true,
  types,
})

export function queriesOn(
  client: pg.ClientBase,
  sent: Connection['sent'] = { statements: 0, others: 0 },
): Kysely<Tables> {
  const query = (text: string, parameters: readonly unknown[]) => {
    sent.statements++
    if (!text.startsWith('select ')) sent.others++
    const name = statementName(text) ?? undefined
    return new Promise<pg.QueryResult>((resolve, reject) => {
      const callback = (error: Error | null, result: pg.QueryResult) => (error ? reject(error) : resolve(result))
      // A plain object would be copied property by property, which takes longer than sending it.
      client.query(Object.assign(new pg.Query(text, [...parameters]), { name, callback }))
    })
  }
  const only = { query, release: () => {} } as unknown as PostgresPoolClient
  const dialect = new PostgresDialect({ pool: { connect: async () => only, end: async () => {} } })
  dialect.createAdapter = () => new CopyingAdapter(client)
  return new Kysely<Tables>({ dialect })
}

const names = new Map<string, string>()

function statementName(text: string): string | null {
  const known = names.get(text)
  if (known !== undefined) return known
  if (names.size >= preparedMax || text.length > preparedCharactersMax) return null
  const name = `s${names.size + 1}`
  names.set(text, name)
  return name
}
