import { randomBytes } from 'node:crypto'
import { type Cluster, ClusterTrouble } from './cluster.ts'
import { indexDefinition, mappingFormat } from './mapping.ts'
import type { IndexMeta } from './profiles.ts'

/**
 * What the indexes of an instance are called, below its prefix:
 *
 *   PREFIX-GENERATION-xxxxxxxx   an index
 *   PREFIX-GENERATION            an alias of it, by which it is searched and written: one that is emptied is another index
 *                                under the same alias
 *   PREFIX-current               an alias of the one that is served
 *   PREFIX-next                  an alias of the one that is built beside it
 */
export interface NamedIndex {
  readonly name: string
  readonly generation: number
  readonly isCurrent: boolean
  readonly isNext: boolean
  readonly meta: IndexMeta | null
}

export const generationAlias = (prefix: string, generation: number): string => `${prefix}-${generation}`
export const pointerAlias = (prefix: string, which: 'current' | 'next'): string => `${prefix}-${which}`

/** Of indexes and aliases: each is a change of the cluster's state, which all nodes have to hear of. */
const changeMs = 60_000

interface FoundIndexes {
  readonly [name: string]: {
    readonly aliases?: Readonly<Record<string, object>>
    readonly mappings?: { readonly _meta?: IndexMeta }
  }
}

export async function listIndexes(cluster: Cluster, prefix: string, timeoutMs: number): Promise<NamedIndex[]> {
  const found = await cluster.call<FoundIndexes>({
    method: 'GET',
    path: `/${prefix}-*`,
    query: { filter_path: '*.aliases,*.mappings._meta', expand_wildcards: 'all' },
    harmless: true,
    timeoutMs,
  })
  return Object.entries(found).flatMap(([name, { aliases = {}, mappings = {} }]) => {
    const [, generation] = new RegExp(`^${prefix}-(\\d+)-[0-9a-f]{8}$`).exec(name) ?? []
    if (generation === undefined) return []
    return {
      name,
      generation: Number(generation),
      isCurrent: pointerAlias(prefix, 'current') in aliases,
      isNext: pointerAlias(prefix, 'next') in aliases,
      meta: mappings._meta ?? null,
    }
  })
}

export interface IndexOrigin {
  readonly rules: string
  readonly instance: string | null
}

/**
 * Makes an empty index. Of several that make the first one of a generation at once, or the first that a pointer points at,
 * one does; the others hear false.
 */
export async function makeIndex(
  cluster: Cluster,
  name: string,
  { rules, instance, shards }: IndexOrigin & { readonly shards: number },
  aliases: readonly string[],
  pointer: string | null = null,
): Promise<boolean> {
  const meta: IndexMeta = { format: mappingFormat, rules, instance, shards, profiles: {} }
  const pointing = pointer === null ? {} : { [pointer]: onlyOne }
  try {
    await cluster.call({
      method: 'PUT',
      path: `/${name}`,
      body: {
        ...indexDefinition(meta, shards),
        aliases: { ...Object.fromEntries(aliases.map((alias) => [alias, {}])), ...pointing },
      },
      harmless: false,
      timeoutMs: changeMs,
    })
    return true
  } catch (error) {
    if (error instanceof ClusterTrouble && taken.includes(error.type)) return false
    throw error
  }
}

/** The cluster refuses an alias a second index of this kind, whatever the names of the two: so of several one is the first. */
const onlyOne = { is_write_index: true }
const taken = ['resource_already_exists_exception', 'illegal_state_exception']

/** The name that all make a generation's first index by. */
export const firstIndex = (prefix: string, generation: number): string =>
  `${generationAlias(prefix, generation)}-00000000`

/** All or none of it. */
export async function changeAliases(cluster: Cluster, actions: readonly object[]): Promise<void> {
  await cluster.call({ method: 'POST', path: '/_aliases', body: { actions }, harmless: false, timeoutMs: changeMs })
}

/** What was to be changed was no longer as it had been found: somebody else was quicker. */
export const isOvertaken = (error: unknown): boolean =>
  error instanceof ClusterTrouble && (error.status === 404 || taken.includes(error.type))

/** Moves a pointer, from where it has to be still. */
export const movePointer = (alias: string, from: readonly NamedIndex[], to: string): object[] => [
  ...from.map(({ name }) => ({ remove: { index: name, alias, must_exist: true } })),
  { add: { index: to, alias, ...onlyOne } },
]

/** Another, empty index takes the place of the one behind the alias, with all its aliases, in one step. */
export async function emptyIndex(cluster: Cluster, alias: string): Promise<void> {
  const found = await cluster.call<FoundIndexes>({
    method: 'GET',
    path: `/${alias}`,
    query: { filter_path: '*.aliases,*.mappings._meta' },
    harmless: true,
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
      harmless: true,
      timeoutMs: changeMs,
    })
  }
}
