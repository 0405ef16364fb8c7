import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import type { EntitlementCount, EntitlementEntry } from './answers.ts'
import { countEntitlements } from './count-entitlements.ts'
import { count, counted } from './words.ts'

const debounceMs = 300

export interface EffectProps {
  readonly before: readonly EntitlementEntry[]
  readonly after: readonly EntitlementEntry[]
  /** Returns an error in words, with the names of the form's fields. */
  readonly inWords: (error: unknown) => string | null
  /** Called with the server's error, or with null after a successful count. */
  readonly counted: (error: unknown) => void
}

/**
 * Shows how many documents the application can read now, and how many it could read after saving. Counting is
 * debounced.
 */
export function EntitlementEffect({ before, after, inWords, counted: report }: EffectProps): ComponentChild {
  const found = useSignal<readonly EntitlementCount[] | null>(null)
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    const look = async (): Promise<void> => {
      try {
        found.value = await Promise.all([before, after].map((entries) => countEntitlements(entries, controller.signal)))
        fault.value = null
        report(null)
      } catch (error) {
        const words = inWords(error)
        if (words === null) return
        fault.value = words
        found.value = null
        report(error)
      }
    }
    const timer = setTimeout(look, debounceMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [JSON.stringify([before, after])])
  if (fault.value !== null) return h('p', { class: 'fault effect', role: 'alert' }, fault.value)
  if (found.value === null) return h('p', { class: 'note effect', role: 'status' }, 'Counting documents …')
  const [now, then] = found.value as [EntitlementCount, EntitlementCount]
  const change = then.documents - now.documents
  const words = change === 0 ? 'no change' : change > 0 ? `${count(change)} more` : `${count(-change)} fewer`
  return h(
    'div',
    { class: 'effect', role: 'status' },
    h(
      'p',
      null,
      'Can read ',
      h('strong', null, counted(now.documents, 'document')),
      ' now and ',
      h('strong', null, count(then.documents)),
      ` after saving (${words}).`,
    ),
    h(Datasets, { now, then }),
  )
}

function Datasets({ now, then }: { readonly now: EntitlementCount; readonly then: EntitlementCount }): ComponentChild {
  const [before, after] = [now, then].map((one) => new Map(one.datasets.map((d) => [d.dataset_id, d.documents])))
  const changed = [...new Set([...before!.keys(), ...after!.keys()])]
    .map((id) => ({ id, was: before!.get(id) ?? 0, is: after!.get(id) ?? 0 }))
    .filter(({ was, is }) => was !== is)
    .sort((a, b) => a.id.localeCompare(b.id))
  if (changed.length === 0) return null
  return h(
    'ul',
    null,
    changed
      .slice(0, 20)
      .map(({ id, was, is }) => h('li', { key: id }, h('span', { dir: 'auto' }, id), `: ${count(was)} → ${count(is)}`)),
  )
}
