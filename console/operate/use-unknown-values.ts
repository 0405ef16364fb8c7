import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { EntitlementEntry } from './answers.ts'
import { countEntitlements } from './count-entitlements.ts'

const restMs = 500
const lists = ['platforms', 'languages', 'regions'] as const
/** Each costs a request; who names more is not asked after a slip of the pen. */
const valuesMax = 12

type Unknown = ReadonlyMap<string, readonly string[]>

/** Values of an entry, by list, that no document of its datasets has: allowed, and more often than not a mistake. */
export function useUnknownValues({ datasets, ...entry }: EntitlementEntry): Unknown {
  const found = useSignal<Unknown>(new Map())
  const asked = lists.flatMap((list) => (entry[list] ?? []).map((value) => [list, value] as const)).slice(0, valuesMax)
  useEffect(() => {
    const leaving = new AbortController()
    const isUnknown = ([list, value]: (typeof asked)[number]): Promise<boolean> =>
      countEntitlements([{ datasets, [list]: [value] }], leaving.signal).then(
        ({ documents }) => documents === 0,
        // This is a hint: what is wrong with an entry is said where its effect is counted.
        () => false,
      )
    const look = async (): Promise<void> => {
      const without = await Promise.all(asked.map(async (one) => ((await isUnknown(one)) ? [one] : [])))
      if (leaving.signal.aborted) return
      const byList = Map.groupBy(without.flat(), ([list]) => list)
      found.value = new Map([...byList].map(([list, values]) => [list, values.map(([, value]) => value)]))
    }
    if (datasets.length === 0 || asked.length === 0) {
      found.value = new Map()
      return
    }
    const timer = setTimeout(look, restMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [JSON.stringify([datasets, asked])])
  return found.value
}
