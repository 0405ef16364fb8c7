import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

/**
 * The upper bound for the store: rows in memory are inserted with plain prepared statements into a copy of the same
 * database. Transactions have as many documents as those of the server, and each is synced to disk.
 */
const tables = ['document', 'document_term', 'document_version', 'snapshot', 'fact_set', 'event'] as const
type Row = Record<string, SQLInputValue>
type Batch = Record<(typeof tables)[number], Row[]>

const pragmas = 'pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -65536'

/** Returns the rows of the documents created after `afterSequence` in the feed, in batches of `batchDocuments`. */
export function readRows(path: string, afterSequence: number, batchDocuments: number): Batch[] {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const events = db
      .prepare("select * from event where sequence > ? and event_type = 'document.created' order by sequence")
      .all(afterSequence) as Row[]
    const byDocument = (table: string) => db.prepare(`select * from ${table} where document_id = ?`)
    const [document, version, snapshot, facts] = ['document', 'document_version', 'snapshot', 'fact_set'].map(
      byDocument,
    )
    const batches: Batch[] = []
    for (let from = 0; from < events.length; from += batchDocuments) {
      const part = events.slice(from, from + batchDocuments)
      const ids = part.map((event) => event.document_id!)
      const rowsOf = (select: typeof document) => ids.flatMap((id) => select!.all(id) as Row[])
      const documents = rowsOf(document)
      batches.push({
        document: documents,
        document_term: documents.flatMap(termsOf),
        document_version: rowsOf(version),
        snapshot: rowsOf(snapshot),
        fact_set: rowsOf(facts),
        event: part,
      })
    }
    return batches
  } finally {
    db.close()
  }
}

/** The table of terms has no index by document, so its rows are derived from the document. */
function termsOf(row: Row): Row[] {
  return [row.topics, row.tags, row.classifications].flatMap((json, i) =>
    (JSON.parse(String(json ?? '[]')) as string[]).map((value) => ({
      kind: i + 1,
      value,
      dataset_id: row.dataset_id!,
      document_id: row.document_id!,
    })),
  )
}

export interface Figure {
  readonly perSecond: number
  /** For 1000 documents. On a machine with other work this says more than the elapsed time. */
  readonly cpuMs: number
}

export function insertRows(path: string, batches: readonly Batch[]): Figure {
  const db = new DatabaseSync(path)
  try {
    db.exec(pragmas)
    const inserts = new Map(
      tables.map((table) => {
        const columns = Object.keys(batches[0]![table][0]!)
        const text = `insert into ${table} (${columns.join()}) values (${columns.map(() => '?').join()})`
        return [table, db.prepare(text)] as const
      }),
    )
    let documents = 0
    const cpuBefore = process.cpuUsage()
    const startedMs = performance.now()
    for (const batch of batches) {
      db.exec('begin immediate')
      for (const [table, insert] of inserts) for (const row of batch[table]) insert.run(...Object.values(row))
      db.exec('commit')
      documents += batch.document.length
    }
    const seconds = (performance.now() - startedMs) / 1000
    const { user, system } = process.cpuUsage(cpuBefore)
    return { perSecond: documents / seconds, cpuMs: (user + system) / documents }
  } finally {
    db.close()
  }
}

export function newestSequence(path: string): number {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return Number(db.prepare('select max(sequence) as newest from event').get()!.newest ?? 0)
  } finally {
    db.close()
  }
}
