import assert from 'node:assert/strict'

/** Tables that grow with the stored content. */
const growing = 'document|document_version|chunk|text_chunk|event|snapshot|fact_set|document_term|erased_document'
/** Stored by profile and chunk: a profile has as many rows as there are chunks. */
const byProfile = 'chunk_vector|pending_vector|refused_vector'

const readsAll = [
  new RegExp(`^SCAN (${growing}|${byProfile})( |$)`),
  new RegExp(`^SEARCH (${byProfile}) USING (PRIMARY KEY|COVERING INDEX \\S+|INDEX \\S+) \\(profile_id=\\?\\)`),
  /^SEARCH (document|document_term) USING .*\((dataset_id=\?|kind=\?)\)/,
  /AUTOMATIC/,
]

/** Statements that scan a whole table on purpose, and rarely. The reasons are given where they are written. */
const meantTo = [
  /^insert into "pending_vector" .*select \? as "profile_id"/s,
  /^select count\(\*\) as "count" from "chunk" where/s,
  /^select count\(\*\) as "count" from "(pending|refused)_vector"/,
  /^select count\(\*\) as "count" from \(select "chunk_id" from "pending_vector" where "profile_id" = \?\)/,
]

const seen = new Set<string>()

/**
 * Fails if a statement scans a table that grows with every stored document. SQLite has no statistics here, as in a
 * server, so it chooses plans by rules. A join that begins at the wrong end passes every other test and only becomes
 * slow later.
 */
export function checkPlan(text: string, read: (sql: string) => readonly Record<string, unknown>[]): void {
  // A list of parameters counts as the same list, however long it is.
  const kind = text.replaceAll(/\?(, \?)+/g, '?, ?').replaceAll(/(\([^()]*\))(, \1)+/g, '$1')
  if (seen.has(kind) || !/^\s*(select|insert|update|delete|with)/i.test(text)) return
  seen.add(kind)
  const plan = read(`explain query plan ${text}`).map(({ detail }) => String(detail))
  const own = new Set(plan.flatMap((line) => /^(?:CO-ROUTINE|MATERIALIZE) (\S+)$/.exec(line)?.[1] ?? []))
  const walks = plan.filter(
    (line) => readsAll.some((one) => one.test(line)) && !own.has(/^SCAN (\S+)$/.exec(line)?.[1] ?? ''),
  )
  if (walks.length === 0 || meantTo.some((one) => one.test(text))) return
  // Reading the first few rows in index order is no scan.
  if (/ limit \?/.test(text) && !plan.some((line) => line.includes('TEMP B-TREE'))) return
  assert.fail(`a statement reads all of a table that grows:\n${text}\n${plan.join('\n')}`)
}
