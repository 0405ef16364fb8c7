/** A limit or switch of a policy, as the form shows it. */
export interface Limit {
  /** Its path in the policy. */
  readonly path: string
  readonly name: string
  /** Whether it is on or off, without a number. */
  readonly isSwitch?: boolean
  readonly note?: string
  /** Whether the number may have a fraction. */
  readonly isFraction?: boolean
  readonly min?: number
}

export interface LimitGroup {
  readonly title: string
  readonly limits: readonly Limit[]
}

/** The note names the endpoint. Each request counts against one quota only. */
const quota = (name: string, words: string, note: string): Limit => ({
  path: `daily_quotas.${name}`,
  name: `${words} per day`,
  note,
})

/** Every limit of a policy. The note says what an empty field means. */
export const limitGroups: readonly LimitGroup[] = [
  {
    title: 'Rates',
    limits: [
      { path: 'requests_per_second', name: 'Requests per second', note: 'Default: 50', isFraction: true },
      { path: 'burst', name: 'Burst', note: 'Default: twice the rate', min: 1 },
      { path: 'max_in_flight', name: 'Concurrent requests', note: 'Default: 32', min: 1 },
    ],
  },
  {
    title: 'Daily quotas (UTC), one per endpoint. Leave empty for no limit.',
    limits: [
      quota('search', 'Searches', '/v1/search only'),
      quota('search_history', 'History searches', '/v1/search/history'),
      quota('search_keyword', 'Keyword searches', '/v1/search/keyword'),
      quota('search_vector', 'Vector searches', '/v1/search/vector'),
      quota('search_hybrid', 'Hybrid searches', '/v1/search/hybrid'),
      quota('changes', 'Change feed reads', '/v1/changes'),
      quota('export', 'Export pages', '/v1/export'),
    ],
  },
  {
    title: 'Live collection',
    limits: [
      { path: 'live.enabled', name: 'May start live collection', isSwitch: true },
      { path: 'live.requests_per_minute', name: 'Live queries per minute' },
      { path: 'live.max_concurrent', name: 'Concurrent live queries' },
      { path: 'live.max_items_per_platform', name: 'Documents per platform', min: 1 },
    ],
  },
  {
    title: 'Analysis',
    limits: [
      { path: 'analysis_enabled', name: 'May use analysis', isSwitch: true },
      { path: 'analysis.scheduling', name: 'Subscriptions may start runs', isSwitch: true },
      { path: 'analysis.max_input_chunks', name: 'Chunks per run', note: 'Default: 5,000', min: 1 },
      { path: 'analysis.max_concurrent_runs', name: 'Concurrent runs' },
    ],
  },
]

export const analysisTypes: Readonly<Record<string, string>> = {
  knn_graph: 'Graph',
  clustering: 'Topics',
  feature_rollup: 'Counts',
  deduplication: 'Copies',
}
/** The path of the one limit that is a list. */
export const typesPath = 'analysis.types'

const limits = new Map(limitGroups.flatMap((group) => group.limits).map((limit) => [limit.path, limit]))
const isNumber = (path: string): boolean => limits.has(path) && limits.get(path)?.isSwitch !== true

export const limitName = (path: string): string =>
  path === typesPath ? 'Types of analysis' : (limits.get(path)?.name ?? path)

type Json = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Flattens a policy to paths such as `daily_quotas.search`. Numbers that the form shows become text. Values that the
 * form does not know stay as they are.
 */
export function fieldsOfPolicy(policy: Json, above = ''): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(policy).flatMap(([name, value]): [string, unknown][] => {
      const path = `${above}${name}`
      if (isObject(value)) return Object.entries(fieldsOfPolicy(value, `${path}.`))
      return [[path, isNumber(path) ? String(value) : value]]
    }),
  )
}

/** The reverse of `fieldsOfPolicy`. Leaves out empty fields. */
export function policyOfFields(fields: Json): Json {
  const policy: Record<string, unknown> = {}
  for (const [path, value] of Object.entries(fields)) {
    if (value === '' || value === undefined) continue
    const names = path.split('.')
    const last = names.pop()!
    let at = policy
    for (const name of names) {
      at[name] ??= {}
      at = at[name] as Record<string, unknown>
    }
    at[last] = isNumber(path) ? Number(value) : value
  }
  return policy
}
