import type pg from 'pg'
import { type Finding, failure, ok, warning } from '../../operator/examine.ts'
import { newestMigration, readSchema } from '../sql/migrate.ts'
import { connectAlone, queriesOn } from './connections.ts'
import { type ExpectedSchema, expectedSchema } from './expected-schema.ts'
import { postgresMigrationDialect } from './migration-dialect.ts'
import { asUnreachable, oldestVersion } from './open-postgres-store.ts'
import { isFullDiskError } from './troubles.ts'

/** A process holds one to receive notifications, and one while it leads an election. */
const connectionsBesideThePool = 2

/** Autovacuum starts when a fifth of a table is dead rows. A far larger share means that it does not keep up. */
const deadShareMax = 0.5
const deadRowsMin = 100_000

/** The age of the oldest rows in transactions. PostgreSQL refuses writes at about 2.1 billion. */
const ageHigh = 1_000_000_000
const ageCritical = 1_800_000_000

const transactionLongSeconds = 600
const standbyLagBytesMax = 256 * 2 ** 20
const standbyLagSecondsMax = 60

/** Examines a database and its server in a read-only transaction. Changes nothing. */
export async function examineDatabase(url: string, connectionsMax: number): Promise<readonly Finding[]> {
  const client = await connectAlone(url).catch((error: unknown) => {
    if (isFullDiskError(error)) return null
    throw asUnreachable(url, error)
  })
  if (client === null) return [diskIsFull]
  try {
    await client.query('begin isolation level repeatable read read only')
    return [
      ...(await examineServer(client)),
      await examineConnections(client, connectionsMax),
      ...(await examineStructure(client)),
      ...(await examineUpkeep(client)),
      ...(await examineTransactions(client)),
      ...(await examineStandbys(client)),
      // This comes last, because the transaction cannot continue after it has failed.
      await examineRoom(client),
    ]
  } finally {
    await client.end()
  }
}

async function rowsOf<Row extends object>(client: pg.Client, text: string, values: unknown[] = []): Promise<Row[]> {
  return (await client.query(text, values)).rows
}

/**
 * No query reports how full the disk is. So this sorts with little memory, which writes some megabytes of temporary
 * files beside the tables, and removes them again.
 */
async function examineRoom(client: pg.Client): Promise<Finding> {
  try {
    await client.query("set local work_mem = '64kB'")
    await client.query(
      'select count(*) from (select md5(i::text) as word from generate_series(1, 50000) as i order by word offset 1) as sorted',
    )
    return ok('there is room on the disk of the database')
  } catch (error) {
    if (!isFullDiskError(error)) throw error
    return diskIsFull
  }
}

const diskIsFull = failure(
  'the disk of the database is full',
  'free up space: until then every write is answered with 503 storage_full; reads still work',
)

async function examineServer(client: pg.Client): Promise<Finding[]> {
  const [found] = await rowsOf<Record<'number' | 'version' | 'encoding' | 'fsync' | 'pages' | 'recovering', string>>(
    client,
    `select current_setting('server_version_num') as number, current_setting('server_version') as version,
       current_setting('server_encoding') as encoding, current_setting('fsync') as fsync,
       current_setting('full_page_writes') as pages, pg_is_in_recovery()::text as recovering`,
  )
  const { number, version, encoding, fsync, pages, recovering } = found!
  const findings = [
    Number(number) >= oldestVersion
      ? ok(`PostgreSQL ${version}`)
      : failure(`PostgreSQL ${version} is too old`, 'bring the database to PostgreSQL 14 or later'),
    encoding === 'UTF8'
      ? ok('encoding UTF8')
      : failure(`the encoding of the database is ${encoding}`, 'make a new one: create database … encoding UTF8'),
  ]
  if (recovering === 'true') {
    findings.push(
      failure('this server is a standby, which cannot be written', 'point TIDEMARK_DATABASE_URL at the primary'),
    )
  }
  const unsafe = [...(fsync === 'off' ? ['fsync'] : []), ...(pages === 'off' ? ['full_page_writes'] : [])]
  findings.push(
    unsafe.length === 0
      ? ok('fsync and full_page_writes are on, and every connection sets synchronous_commit')
      : warning(
          `${unsafe.join(' and ')} off: a power failure can destroy the database, including acknowledged writes`,
          `set ${unsafe.map((name) => `${name} = on`).join(' and ')} in postgresql.conf, unless the data can be recreated`,
        ),
  )
  return findings
}

async function examineConnections(client: pg.Client, connectionsMax: number): Promise<Finding> {
  const [found] = await rowsOf<{ most: number; used: number }>(
    client,
    `select least(
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true), '0')::int,
         (select nullif(datconnlimit, -1) from pg_database where datname = current_database()),
         (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user)
       ) as most,
       (select count(*) from pg_stat_activity where backend_type = 'client backend') as used`,
  )
  const { most, used } = found!
  const needed = connectionsMax + connectionsBesideThePool
  const about = `a process opens up to ${needed} connections; the server has ${most} for its clients, ${used} of them in use`
  return needed <= most
    ? ok(about)
    : failure(
        about,
        'raise max_connections (or the limit of the role or database), or lower TIDEMARK_DATABASE_CONNECTIONS_MAX',
      )
}

/** Checks that all tables exist, with everything that belongs to them. */
async function examineStructure(client: pg.Client): Promise<Finding[]> {
  // Another schema version has other indexes. Another check reports it.
  if ((await readSchema(queriesOn(client), postgresMigrationDialect)).newest !== newestMigration) return []
  const expected = await expectedSchema()
  const findings = [...(await examineTables(client, expected)), ...(await examineIndexes(client, expected))]
  return findings.length > 0
    ? findings
    : [
        ok(
          `${expected.tables.length} tables with ${expected.indexes.size} indexes besides their keys, as this version creates them`,
        ),
      ]
}

async function examineTables(client: pg.Client, { tables }: ExpectedSchema): Promise<Finding[]> {
  const found = await rowsOf<{ name: string; there: boolean; keyed: boolean; otherwise: string[] | null }>(
    client,
    `select name, c.oid is not null as there,
       exists(select from pg_index where indrelid = c.oid and indisprimary and indisvalid) as keyed,
       (select json_agg(attname order by attnum) from pg_attribute
         where attrelid = c.oid and attnum > 0 and atttypid = 'text'::regtype and not attisdropped
           and attcollation <> '"C"'::regcollation) as otherwise
     from unnest($1::text[]) as name left join pg_class c on c.oid = to_regclass(name)
     order by name`,
    [tables],
  )
  return found.flatMap(({ name, there, keyed, otherwise }) => [
    ...(there ? [] : [failure(`table ${name} is missing`, 'restore a backup: its rows are lost')]),
    ...(there && !keyed
      ? [failure(`table ${name} has no valid primary key`, 'restore a backup into a new database')]
      : []),
    ...(otherwise === null
      ? []
      : [
          failure(
            `texts of table ${name} (${otherwise.join(', ')}) are not compared by their bytes: listings and cursors lose their order`,
            otherwise.map((column) => `alter table ${name} alter ${column} type text collate "C"`).join('; '),
          ),
        ]),
  ])
}

async function examineIndexes(client: pg.Client, { indexes }: ExpectedSchema): Promise<Finding[]> {
  const found = await rowsOf<{ name: string; there: boolean; valid: boolean | null }>(
    client,
    `select name, indexrelid is not null as there, indisvalid as valid
     from unnest($1::text[]) as name left join pg_index on indexrelid = to_regclass(name)
     order by name`,
    [[...indexes.keys()]],
  )
  return found.flatMap(({ name, there, valid }) => {
    if (!there) {
      const statement = indexes.get(name)!.replace(' index ', ' index concurrently ')
      return [failure(`index ${name} is missing: its queries scan whole tables`, statement)]
    }
    return valid ? [] : [failure(`index ${name} is not valid and not used`, `reindex index concurrently ${name}`)]
  })
}

/** Checks the maintenance that keeps the database fast and able to take writes. */
async function examineUpkeep(client: pg.Client): Promise<Finding[]> {
  const findings: Finding[] = []
  const [server] = await rowsOf<{ autovacuum: string; age: number }>(
    client,
    `select current_setting('autovacuum') as autovacuum,
       (select age(datfrozenxid) from pg_database where datname = current_database()) as age`,
  )
  const { autovacuum, age } = server!
  findings.push(
    autovacuum === 'on'
      ? ok('autovacuum is on')
      : warning('autovacuum is off: tables grow and slow down', 'set autovacuum = on in postgresql.conf'),
  )
  const tables = await rowsOf<{ name: string; live: number; dead: number; exempt: boolean }>(
    client,
    `select c.relname as name, n_live_tup as live, n_dead_tup as dead,
       coalesce('autovacuum_enabled=false' = any(reloptions), false) as exempt
     from pg_stat_user_tables s join pg_class c on c.oid = s.relid
     where c.relnamespace = current_schema()::regnamespace order by c.relname`,
  )
  for (const { name, live, dead, exempt } of tables) {
    if (exempt) {
      findings.push(
        warning(`table ${name} is exempt from autovacuum`, `alter table ${name} reset (autovacuum_enabled)`),
      )
    }
    if (dead > deadRowsMin && dead > live * deadShareMax) {
      findings.push(
        warning(
          `table ${name} has ${dead} dead rows beside ${live} live ones: vacuum does not keep up`,
          `vacuum (analyze) ${name}; and end old transactions, which hold it up`,
        ),
      )
    }
  }
  if (age > ageHigh) {
    const about = `the oldest rows are ${age} transactions old: at 2.1 billion the database stops taking writes`
    const advice = 'vacuum (freeze), after ending old transactions, prepared ones and unused replication slots'
    findings.push(age > ageCritical ? failure(about, advice) : warning(about, advice))
  }
  return findings
}

async function examineTransactions(client: pg.Client): Promise<Finding[]> {
  const running = await rowsOf<{ pid: number; name: string; seconds: number }>(
    client,
    `select pid, application_name as name, extract(epoch from now() - xact_start)::int as seconds from pg_stat_activity
     where datname = current_database() and extract(epoch from now() - xact_start) > $1 order by xact_start`,
    [transactionLongSeconds],
  )
  const prepared = await rowsOf<{ gid: string; seconds: number }>(
    client,
    `select gid, extract(epoch from now() - prepared)::int as seconds from pg_prepared_xacts
     where database = current_database() and extract(epoch from now() - prepared) > $1 order by prepared`,
    [transactionLongSeconds],
  )
  return [
    ...running.map(({ pid, name, seconds }) =>
      warning(
        `a transaction of "${name}" (pid ${pid}) has been running for ${minutes(seconds)}: dead rows cannot be removed meanwhile`,
        `end it if nobody needs it: select pg_terminate_backend(${pid})`,
      ),
    ),
    ...prepared.map(({ gid, seconds }) =>
      warning(
        `the prepared transaction "${gid}" has been waiting for ${minutes(seconds)}: dead rows cannot be removed meanwhile`,
        `commit prepared '${gid}', or rollback prepared '${gid}'`,
      ),
    ),
  ]
}

const minutes = (seconds: number): string => `${Math.floor(seconds / 60)} minutes`

/** Standbys show their state to the superuser and to members of pg_monitor; other users only see that they exist. */
async function examineStandbys(client: pg.Client): Promise<Finding[]> {
  const [role] = await rowsOf<{ recovering: boolean; informed: boolean }>(
    client,
    `select pg_is_in_recovery() as recovering, pg_has_role('pg_read_all_stats', 'usage') as informed`,
  )
  if (role!.recovering) return []
  const standbys = await rowsOf<{ name: string; state: string | null; behind: number; seconds: number }>(
    client,
    `select application_name as name, state,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), coalesce(replay_lsn, flush_lsn, sent_lsn)), 0)::int8 as behind,
       coalesce(extract(epoch from replay_lag), 0)::int as seconds
     from pg_stat_replication order by application_name`,
  )
  const slots = await rowsOf<{ name: string; kept: number }>(
    client,
    `select slot_name as name, coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::int8 as kept
     from pg_replication_slots where not active order by slot_name`,
  )
  if (standbys.length > 0 && !role!.informed) {
    return [
      warning(
        `${standbys.length} standbys, whose lag this user may not see`,
        'grant pg_monitor to the user of Tidemark',
      ),
    ]
  }
  return [
    ...standbys.map(({ name, state, behind, seconds }) => {
      const about = `standby "${name}" (${state}) is ${mebibytes(behind)} and ${seconds} s behind`
      return behind > standbyLagBytesMax || seconds > standbyLagSecondsMax || state !== 'streaming'
        ? warning(about, 'check its log, its disk and the network between the two servers')
        : ok(about)
    }),
    ...slots.map(({ name, kept }) =>
      warning(
        `nobody reads from the replication slot "${name}", which keeps ${mebibytes(kept)} of the log on the disk`,
        `start its standby, or: select pg_drop_replication_slot('${name}')`,
      ),
    ),
  ]
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`
