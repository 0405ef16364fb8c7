import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { ask, inWords } from '../app/ask.ts'
import type { EntitlementCount, EntitlementEntry } from './answers.ts'
import { count, counted } from './words.ts'

const restMs = 300

const counts = (entitlements: readonly EntitlementEntry[], signal: AbortSignal): Promise<EntitlementCount> =>
  ask('POST', '/admin/v1/entitlements/count', { as: 'admin', body: { entitlements }, repeatable: true, signal })

export interface EffectProps {
  readonly before: readonly EntitlementEntry[]
  readonly after: readonly EntitlementEntry[]
}

/** How many documents the application sees now, and how many it would: asked whenever the draft rests for a moment. */
export function EntitlementEffect({ before, after }: EffectProps): ComponentChild {
  const found = useSignal<readonly [now: EntitlementCount, then: EntitlementCount] | null>(null)
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    const leaving = new AbortController()
    const look = async (): Promise<void> => {
      try {
        found.value = await Promise.all([counts(before, leaving.signal), counts(after, leaving.signal)])
        fault.value = null
      } catch (error) {
        const words = inWords(error)
        if (words === null) return
        fault.value = words
        found.value = null
      }
    }
    const timer = setTimeout(look, restMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [JSON.stringify([before, after])])
  if (fault.value !== null) return h('p', { class: 'fault effect', role: 'alert' }, fault.value)
  if (found.value === null) return h('p', { class: 'note effect', role: 'status' }, 'Counting what it would see …')
  const [now, then] = found.value
  const change = then.documents - now.documents
  const words = change === 0 ? 'as many' : change > 0 ? `${count(change)} more` : `${count(-change)} fewer`
  return h(
    'div',
    { class: 'effect', role: 'status' },
    h(
      'p',
      null,
      'Sees ',
      h('strong', null, counted(now.documents, 'document')),
      ' now, ',
      h('strong', null, count(then.documents)),
      ` after saving: ${words}.`,
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
