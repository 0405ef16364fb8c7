import { hash, randomBytes } from 'node:crypto'
import { type Cluster, ClusterError } from './cluster.ts'
import { indexDefinition, mappingFormat } from './mapping.ts'
import type { IndexMeta } from './profiles.ts'

/**
 * Names of the indexes of an instance. Each version has its own family, so that processes of two versions serve, feed
 * and rebuild side by side. A version is a mapping format and the rules of text analysis. FAMILY is PREFIX-vVERSION, or
 * PREFIX alone for versions of Tidemark that had no families yet:
 *
 *   FAMILY-GENERATION-xxxxxxxx   an index
 *   FAMILY-GENERATION            an alias of it, for searches and writes; to empty it, another index gets the alias
 *   FAMILY-current               an alias of the served index
 *   FAMILY-next                  an alias of the index that is built beside it
 *
 * Versions without families ignore the other names, because in these no number follows the prefix.
 */
export interface NamedIndex {
  readonly name: string
  /** Null for an index of a version without families. */
  readonly version: string | null
  readonly generation: number
  readonly isCurrent: boolean
  readonly isNext: boolean
  readonly meta: IndexMeta | null
}

export const versionOf = (rules: string): string => hash('sha256', JSON.stringify([mappingFormat, rules])).slice(0, 8)
export const familyOf = (prefix: string, version: string | null): string =>
  version === null ? prefix : `${prefix}-v${version}`

export const generationAlias = (family: string, generation: number): string => `${family}-${generation}`
export const pointerAlias = (family: string, which: 'current' | 'next'): string => `${family}-${which}`

/** The time limit for changes of indexes and aliases, which must be published to all nodes. */
const changeMs = 60_000

interface FoundIndexes {
  readonly [name: string]: {
    readonly aliases?: Readonly<Record<string, object>>
    readonly mappings?: { readonly _meta?: IndexMeta }
  }
}

/** The indexes of all families. */
export async function listIndexes(cluster: Cluster, prefix: string, timeoutMs: number): Promise<NamedIndex[]> {
  const found = await cluster.call<FoundIndexes>({
    method: 'GET',
    path: `/${prefix}-*`,
    query: { filter_path: '*.aliases,*.mappings._meta', expand_wildcards: 'all' },
    idempotent: true,
    timeoutMs,
  })
  return Object.entries(found).flatMap(([name, { aliases = {}, mappings = {} }]) => {
    const [, version = null, generation] =
      new RegExp(`^${prefix}(?:-v([0-9a-f]{8}))?-(\\d+)-[0-9a-f]{8}$`).exec(name) ?? []
    if (generation === undefined) return []
    const family = familyOf(prefix, version)
    return {
      name,
      version,
      generation: Number(generation),
      isCurrent: pointerAlias(family, 'current') in aliases,
      isNext: pointerAlias(family, 'next') in aliases,
      meta: mappings._meta ?? null,
    }
  })
}

/** The bytes of all shard copies. An index that was removed meanwhile counts as 0. */
export async function diskBytes(
  cluster: Cluster,
  indexes: readonly Pick<NamedIndex, 'name'>[],
  timeoutMs: number,
): Promise<number> {
  const { _all } = await cluster.call<{ _all?: { total?: { store?: { size_in_bytes: number } } } }>({
    method: 'GET',
    path: `/${indexes.map(({ name }) => name).join(',')}/_stats/store`,
    query: { filter_path: '_all.total.store', ignore_unavailable: true },
    idempotent: true,
    timeoutMs,
  })
  return _all?.total?.store?.size_in_bytes ?? 0
}

export interface IndexOrigin {
  readonly rules: string
  readonly instance: string | null
}

/**
 * Creates an empty index. Several processes may create the first index of a generation, or the first target of a
 * pointer, at the same time. Then one of them succeeds, and the others get false.
 */
export async function makeIndex(
  cluster: Cluster,
  name: string,
  { rules, instance, shards }: IndexOrigin & { readonly shards: number },
  aliases: readonly string[],
  pointer: string | null = null,
): Promise<boolean> {
  const meta: IndexMeta = { format: mappingFormat, rules, instance, shards, profiles: {} }
  const pointing = pointer === null ? {} : { [pointer]: exclusive }
  try {
    await cluster.call({
      method: 'PUT',
      path: `/${name}`,
      body: {
        ...indexDefinition(meta, shards),
        aliases: { ...Object.fromEntries(aliases.map((alias) => [alias, {}])), ...pointing },
      },
      idempotent: false,
      timeoutMs: changeMs,
    })
    return true
  } catch (error) {
    if (error instanceof ClusterError && conflictTypes.includes(error.type)) return false
    throw error
  }
}

/** The cluster refuses a second write index for an alias, so only one of several concurrent processes succeeds. */
const exclusive = { is_write_index: true }
const conflictTypes = ['resource_already_exists_exception', 'illegal_state_exception']

/** The name that all processes use for the first index of a generation. */
export const firstIndex = (family: string, generation: number): string =>
  `${generationAlias(family, generation)}-00000000`

/** Applies all actions or none. */
export async function changeAliases(cluster: Cluster, actions: readonly object[]): Promise<void> {
  await cluster.call({ method: 'POST', path: '/_aliases', body: { actions }, idempotent: false, timeoutMs: changeMs })
}

/** Whether the change failed because another process made a conflicting change first. */
export const isOvertaken = (error: unknown): boolean =>
  error instanceof ClusterError && (error.status === 404 || conflictTypes.includes(error.type))

/** The actions that move a pointer. They fail if it no longer points where it did. */
export const movePointer = (alias: string, from: readonly NamedIndex[], to: string): object[] => [
  ...from.map(({ name }) => ({ remove: { index: name, alias, must_exist: true } })),
  { add: { index: to, alias, ...exclusive } },
]

/** Replaces the index behind the alias with a new, empty one under the same aliases, in one step. */
export async function emptyIndex(cluster: Cluster, alias: string): Promise<void> {
  const found = await cluster.call<FoundIndexes>({
    method: 'GET',
    path: `/${alias}`,
    query: { filter_path: '*.aliases,*.mappings._meta' },
    idempotent: true,
    timeoutMs: changeMs,
  })
  const [name, { aliases = {}, mappings = {} }] = Object.entries(found)[0]!
  const empty = `${alias}-${randomBytes(4).toString('hex')}`
  await makeIndex(cluster, empty, mappings._meta!, [])
  await changeAliases(cluster, [
    ...Object.entries(aliases).map(([one, kind]) => ({ add: { ...kind, index: empty, alias: one } })),
    { remove_index: { index: name } },
  ])
}

export async function deleteIndexes(cluster: Cluster, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await cluster.call({
      method: 'DELETE',
      path: `/${name}`,
      query: { ignore_unavailable: true },
      idempotent: true,
      timeoutMs: changeMs,
    })
  }
}
