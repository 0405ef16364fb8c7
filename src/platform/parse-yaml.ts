import { isAlias, isCollection, isPair, parseDocument } from 'yaml'

/** Why a text is refused as YAML, as a sentence. */
export class YamlFault extends Error {}

/** The limit on aliases: the library searches all anchors for each. */
const aliasesMax = 10_000

/** The limit on values after aliases are replaced by the values that they repeat. Later checks visit each of them. */
const valuesMax = 1_000_000

const tooDeep = 'its values are nested too deeply'

/**
 * Parses one document to plain values. An alias may repeat its anchor any number of times within these limits; the
 * library alone would refuse more than a hundred. An alias within its own anchor is refused, because it would not end.
 */
export function parseYaml(text: string): unknown {
  try {
    const document = parseDocument(text)
    const [error] = document.errors
    if (error?.code === 'RESOURCE_EXHAUSTION') throw new YamlFault(tooDeep)
    if (error !== undefined) throw new YamlFault(error.message)
    const { values, aliases } = new Expansion().measure(document.contents)
    if (aliases > aliasesMax) throw new YamlFault(`${aliases} aliases, but at most ${aliasesMax} are read`)
    if (aliases > 0 && values > valuesMax) {
      throw new YamlFault(`its aliases repeat too much: with them it has more than ${valuesMax} values`)
    }
    return document.toJS({ maxAliasCount: -1 })
  } catch (error) {
    // A stack overflow: parsing and measuring recurse to the depth of the nesting.
    if (error instanceof RangeError) throw new YamlFault(tooDeep)
    throw error
  }
}

/** Measures how large a document is after its aliases are expanded. Visits each node once. */
class Expansion {
  /** The sizes of anchors by name; null while an anchor is being measured. */
  readonly #sizes = new Map<string, number | null>()
  #aliases = 0

  measure(node: unknown): { readonly values: number; readonly aliases: number } {
    return { values: this.#sizeOf(node), aliases: this.#aliases }
  }

  #sizeOf(node: unknown): number {
    if (isAlias(node)) {
      this.#aliases++
      const size = this.#sizes.get(node.source)
      if (size === null) throw new YamlFault(`the alias *${node.source} is within the anchor that it names`)
      if (size === undefined) throw new YamlFault(`the alias *${node.source} has no anchor before it`)
      return size
    }
    if (isPair(node)) return this.#sizeOf(node.key) + this.#sizeOf(node.value)
    const { anchor } = (node ?? {}) as { anchor?: string }
    if (anchor !== undefined) this.#sizes.set(anchor, null)
    const size = isCollection(node) ? node.items.reduce<number>((sum, item) => sum + this.#sizeOf(item), 1) : 1
    if (anchor !== undefined) this.#sizes.set(anchor, size)
    return size
  }
}
