import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { EntitlementEntry } from './answers.ts'
import { countEntitlements } from './count-entitlements.ts'

const debounceMs = 500
const lists = ['platforms', 'languages', 'regions'] as const
/** Only the first values are checked, because each costs a request. */
const valuesMax = 12

type Unknown = ReadonlyMap<string, readonly string[]>

/**
 * Returns the values, by list, that no document of the entry's datasets has. They are allowed, but are usually
 * mistakes.
 */
export function useUnknownValues({ datasets, ...entry }: EntitlementEntry): Unknown {
  const found = useSignal<Unknown>(new Map())
  const checked = lists
    .flatMap((list) => (entry[list] ?? []).map((value) => [list, value] as const))
    .slice(0, valuesMax)
  useEffect(() => {
    const controller = new AbortController()
    const isUnknown = ([list, value]: (typeof checked)[number]): Promise<boolean> =>
      countEntitlements([{ datasets, [list]: [value] }], controller.signal).then(
        ({ documents }) => documents === 0,
        // This is only a hint. Errors in the entry are shown where its effect is counted.
        () => false,
      )
    const look = async (): Promise<void> => {
      const without = await Promise.all(checked.map(async (one) => ((await isUnknown(one)) ? [one] : [])))
      if (controller.signal.aborted) return
      const byList = Map.groupBy(without.flat(), ([list]) => list)
      found.value = new Map([...byList].map(([list, values]) => [list, values.map(([, value]) => value)]))
    }
    if (datasets.length === 0 || checked.length === 0) {
      found.value = new Map()
      return
    }
    const timer = setTimeout(look, debounceMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [JSON.stringify([datasets, checked])])
  return found.value
}
