import { hash } from 'node:crypto'
import { documentColumns } from '../document/rows.ts'
import { ANALYSIS_VERSION } from '../text/analysis-version.ts'

const columns = documentColumns.flatMap(({ name, kind, indexed, facet }) =>
  indexed === undefined ? [] : [[name, kind, indexed, facet]],
)

/**
 * The version of the rules by which an index is built: text analysis and the columns of documents. An index built by
 * other rules is not read; a new one is built beside the served one.
 */
export const indexRules = `${ANALYSIS_VERSION}/${hash('sha256', JSON.stringify(columns)).slice(0, 8)}`
