import type { Conditions, NumberRange } from '../../../document/field-types.ts'
import { conditionOf, filterRows } from '../../../document/rows.ts'
import type { FilterClass } from '../format/filter-classes.ts'
import type { SegmentData } from '../format/segment-data.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'

type Test = (data: SegmentData, document: number) => boolean

/** Returns `null` without conditions. Must be called inside the snapshot, because it looks up terms. */
export function numberConditions(
  conditions: Conditions | undefined,
  dictionary: TermDictionary,
  classes: readonly FilterClass[],
): NumberedConditions | null {
  const isAny = Object.keys(conditions ?? {}).length === 0
  return conditions === undefined || isAny ? null : new NumberedConditions(conditions, dictionary, classes)
}

/** The conditions of a search, with the numbers of their values. */
export class NumberedConditions {
  readonly #tests: readonly Test[]

  constructor(conditions: Conditions, dictionary: TermDictionary, classes: readonly FilterClass[]) {
    this.#tests = filterRows.flatMap((row) => {
      const condition = conditionOf(conditions, row)
      if (condition === undefined) return []
      if (row.indexed === 'columns')
        return [testClass(row.property as keyof FilterClass, condition as readonly string[], classes)]
      return [
        row.kind === 'integer'
          ? testNumber(row.property, condition as NumberRange)
          : testTexts(row.property, condition as readonly string[], dictionary),
      ]
    })
  }

  hold(data: SegmentData, document: number): boolean {
    return this.#tests.every((test) => test(data, document))
  }
}

function testNumber(property: string, { min, max }: NumberRange): Test {
  const [from, to] = [min ?? -Infinity, max ?? Infinity]
  return ({ catalog }, document) => {
    const value = catalog[property]!.values[document]!
    // A document without a value has NaN, which is in no interval.
    return value >= from && value <= to
  }
}

function testTexts(property: string, texts: readonly string[], dictionary: TermDictionary): Test {
  // 0 is the number of an unknown text, and also that of a document without a value.
  const numbers = new Set(texts.map((text) => dictionary.find(text)).filter((number) => number !== 0))
  return ({ catalog }, document) => {
    const { starts, values } = catalog[property]!
    if (starts === null) return numbers.has(values[document]!)
    const end = starts[document + 1]!
    for (let at = starts[document]!; at < end; at++) if (numbers.has(values[at]!)) return true
    return false
  }
}

/** All chunks of a document have the same value, except for the language. */
function testClass(property: keyof FilterClass, texts: readonly string[], classes: readonly FilterClass[]): Test {
  const allowed = new Set<unknown>(texts)
  return ({ chunkClass, documentFirstChunk }, document) =>
    allowed.has(classes[chunkClass[documentFirstChunk[document]!]!]![property])
}
