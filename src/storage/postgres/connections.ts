import type { PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { Measures } from '../../measures.ts'
import { Kysely, PostgresDialect } from '../sql/kysely.ts'
import type { Tables } from '../sql/tables.ts'
import { CopyingAdapter } from './copying-adapter.ts'

/** Statement texts that are kept prepared in each connection; listings have many forms, and rare ones need not be. */
const preparedMax = 300
const preparedCharactersMax = 20_000

const connectWithinMs = 5000

/**
 * When a statement is planned. A plan that must do for any values is none for a listing: common and rare ones want different
 * plans. For rows by their ids there is one, by the indexes of ids, and to make it takes the server longer than to read a page
 * of results by it. It is kept while tables grow, and may be made while they are empty: so nothing else is left to choose.
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
 * What every connection is told first. Nothing may hold a lock for long: a process that stops in the middle of a
 * transaction would hold up every writer of the instance, so the server ends it, and notices a peer that is gone.
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

/** Whole numbers of 64 bits are counts, times and positions here: all far below 2^53. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig

/** One connection, with the queries that run on it. */
export interface Connection {
  readonly client: pg.PoolClient
  readonly db: Kysely<Tables>
  /** How many statements `db` has sent, and how many of them were no selects. */
  readonly sent: { statements: number; others: number }
  /** As the server has been told. */
  planned: Planned
}

/** A number of connections to one database, opened as they are needed. */
export class Connections {
  #pool: pg.Pool
  #known = new WeakMap<pg.PoolClient, Connection>()
  #heardAt = 0

  constructor(url: string, most: number) {
    // What is sent does not wait for the answer to what was sent before.
    this.#pool = new pg.Pool({ ...clientSettings(url), max: most, pipeline: true })
    // A connection that breaks while nobody uses it is replaced by the pool; whoever uses one sees its query fail.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', (client) => {
      client.on('error', () => {})
      client.connection.stream.on('data', () => {
        this.#heardAt = performance.now()
      })
    })
  }

  /** When the database said anything last, on any connection, by the clock of `performance`. */
  get heardAt(): number {
    return this.#heardAt
  }

  measure(measures: Measures): void {
    const help = 'Connections that are used and idle, calls that wait for one, and how many there may be.'
    measures.gauge({ name: 'tidemark_database_connections', help, labels: ['state'] }, () => {
      const { totalCount, idleCount, waitingCount, options } = this.#pool
      const counts = { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount, most: options.max }
      return Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }))
    })
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

  /** A connection in an unknown state is not used again. */
  giveBack({ client }: Connection, isSound: boolean): void {
    client.release(!isSound)
  }

  close(): Promise<void> {
    return this.#pool.end()
  }
}

/** From the next statement on; told only where it changes, in one flight with that statement, and not waited for. */
export function plan(connection: Connection, planned: Planned): void {
  if (connection.planned === planned) return
  connection.planned = planned
  sendTogether(connection.client)
  // Where this fails, what is sent after it fails too, and is heard.
  connection.client.query(planSettings(planned)).catch(() => {})
}

/** What is sent from now until all that can go on now has done so leaves at once. */
export function sendTogether({ connection: { stream } }: pg.PoolClient): void {
  stream.cork()
  process.nextTick(() => stream.uncork())
}

/** A connection of its own beside the pool, for what lasts: listening, holding offices. */
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
      // Given as an object it would be copied property by property, which takes longer than to send it.
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
