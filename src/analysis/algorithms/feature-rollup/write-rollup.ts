import type { TimeBucket } from '../../../platform/time-buckets.ts'
import type { AlgorithmInput, Running } from '../../algorithm.ts'
import type { Columns, TableFile } from '../../compute/table-file.ts'
import type { ExactSum } from './exact-sum.ts'
import { type RollupGroup, RollupGroups } from './rollup-groups.ts'
import type { RollupField } from './rollup-keys.ts'

export type RollupParameters = {
  readonly by: readonly RollupField[]
  readonly bucket: TimeBucket | null
}

const rowsPerGroup = 100_000

export async function writeRollup(
  { rowsMax, portions }: AlgorithmInput,
  { by, bucket }: RollupParameters,
  { rollup }: { readonly rollup: TableFile },
  { progress }: Running,
): Promise<{ readonly groups: number }> {
  const groups = new RollupGroups(by, bucket)
  let read = 0
  for await (const { documents } of portions) {
    for (const document of documents) groups.add(document)
    read += documents.length
    await progress(read / rowsMax)
  }
  const rows = groups.inOrder()
  const columns = columnsOf(by, [...groups.metrics].sort())
  const table = rollup.withColumns(Object.fromEntries(columns.map(({ name, kind }) => [name, kind])) as Columns)
  for (let start = 0; start < rows.length; start += rowsPerGroup) {
    const some = rows.slice(start, start + rowsPerGroup)
    table.write(Object.fromEntries(columns.map(({ name, values }) => [name, values(some)])))
  }
  return { groups: rows.length }
}

interface Column {
  readonly name: string
  readonly kind: Columns[string]
  readonly values: (groups: readonly RollupGroup[]) => never
}

function columnsOf(by: readonly RollupField[], metrics: readonly string[]): Column[] {
  const columns: Column[] = []
  const column = (name: string, kind: Columns[string], values: (groups: readonly RollupGroup[]) => unknown): void => {
    // Only a metric named `score` can clash with another column.
    const free = columns.some((one) => one.name === name) ? `metrics.${name}` : name
    columns.push({ name: free, kind, values: values as Column['values'] })
  }
  const sum = (name: string, of: (group: RollupGroup) => ExactSum | undefined): void => {
    column(`${name}_sum`, 'doubleOrNull', (groups) => groups.map((group) => of(group)?.value ?? null))
    column(`${name}_count`, 'int32', (groups) => Int32Array.from(groups, (group) => of(group)?.count ?? 0))
  }
  for (const [i, field] of by.entries()) column(field, 'textOrNull', (groups) => groups.map(({ key }) => key[i]!))
  column('bucket', 'dateOrNull', (groups) => groups.map((group) => group.bucket))
  column('documents', 'int32', (groups) => Int32Array.from(groups, (group) => group.documents))
  column('authors', 'int32', (groups) => Int32Array.from(groups, (group) => group.authors.size))
  sum('score', (group) => group.score)
  for (const metric of metrics) sum(metric, (group) => group.metrics.get(metric))
  return columns
}
