import { type Signal, useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { type Account, account } from '../app/account.ts'
import { callApi, inWords } from '../app/call-api.ts'
import { type FieldFaults, fieldFaults, noFaults } from '../app/field-faults.ts'
import { go } from '../app/router.ts'
import { type AnalysisDraft, initialParameters, missingIn, requestOfDraft } from './analysis-request.ts'
import { type AnalysisType, analysisTypes, type Run, typeWords } from './analysis-types.ts'
import { FieldFault } from './field-fault.ts'
import { ParameterFields } from './parameter-fields.ts'

/** The analysis types that the application may run. */
export const typesOf = (known: Account | null): readonly string[] =>
  known?.policy.analysis_enabled ? (known.policy.analysis?.types ?? ['knn_graph']) : []

const datasetsOf = (known: Account): readonly string[] => [
  ...new Set(known.entitlements.flatMap(({ datasets }) => datasets)),
]

export function newDraft(known: Account): AnalysisDraft {
  const type = (typesOf(known)[0] as AnalysisType | undefined) ?? 'knn_graph'
  return {
    type,
    datasets: datasetsOf(known),
    platforms: '',
    languages: '',
    from: '',
    to: '',
    parameters: initialParameters(type),
    subscription: null,
  }
}

const profileOf = (known: Account): string | null =>
  (known.embedding_profiles.find((profile) => profile.is_default) ?? known.embedding_profiles[0])?.id ?? null

export const requestBehind = (draft: AnalysisDraft, known: Account) => ({
  method: 'POST',
  path: draft.subscription === null ? '/v1/analysis/runs' : '/v1/analysis/subscriptions',
  body: requestOfDraft(draft, profileOf(known)),
})

/** Starts a run, or creates a subscription that starts runs regularly. */
export function AnalysisForm({
  draft,
  readRuns,
}: {
  readonly draft: Signal<AnalysisDraft | null>
  readonly readRuns: () => void
}): ComponentChild {
  const known = account.value
  const fault = useSignal<string | null>(null)
  const faults = useSignal<FieldFaults>(noFaults)
  const isBusy = useSignal(false)
  const form = useRef<HTMLFormElement>(null)
  // Moves the focus to the first invalid field, which may be out of sight.
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [faults.value])
  if (known === null || draft.value === null) return null
  const now = draft.value
  const change = (changes: Partial<AnalysisDraft>): void => {
    draft.value = { ...now, ...changes }
    faults.value = noFaults
    fault.value = null
  }
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    fault.value = null
    isBusy.value = true
    try {
      const { method, path, body } = requestBehind(now, known)
      const made = await callApi<Run>(method, path, { body })
      go(now.subscription === null ? `/analysis/runs/${made.run_id}` : '/analysis/subscriptions')
    } catch (error) {
      faults.value = fieldFaults(error)
      const isAtItsField = [...faults.value.keys()].every((path) => shownPaths.test(path))
      fault.value = faults.value.size > 0 && isAtItsField ? 'Check the fields marked above.' : inWords(error)
      // The run may have started, and a second request would start a second one. The list shows it once the server
      // responds again.
      if (error instanceof TypeError) {
        fault.value += ` Check the list of ${now.subscription === null ? 'runs' : 'subscriptions'} before you start it again.`
        readRuns()
      }
    } finally {
      isBusy.value = false
    }
  }
  const missing = missingIn(now)
  return h(
    'form',
    { ref: form, class: 'card analysis-form', onSubmit: send, 'aria-labelledby': 'new-run' },
    h('h2', { id: 'new-run' }, 'New analysis'),
    h(TypeChoice, { draft: now, executed: typesOf(known), change }),
    h(ScopeFields, { draft: now, datasets: datasetsOf(known), faults: faults.value, change }),
    h(
      'details',
      { class: 'more', open: now.type === 'feature_rollup' },
      h('summary', null, 'Parameters'),
      h(ParameterFields, {
        key: now.type,
        type: now.type,
        given: now.parameters,
        faults: faults.value,
        change: (parameters) => change({ parameters }),
      }),
    ),
    known.policy.analysis?.scheduling ? h(SubscriptionFields, { draft: now, change }) : null,
    h(
      'div',
      { class: 'start' },
      h('p', { class: 'fault', role: 'alert' }, fault.value),
      h(
        'button',
        {
          type: 'submit',
          class: 'button main',
          disabled: isBusy.value || missing !== null,
          'aria-describedby': 'start-missing',
        },
        now.subscription === null ? 'Start' : 'Subscribe',
      ),
      h('span', { id: 'start-missing', class: 'note', role: 'status' }, missing),
    ),
  )
}

/** The paths of errors that are shown at a field of the form. */
const shownPaths = /^(?:parameters\.\w+|input_scope\.(?:source_platforms|languages|published_from|published_to))$/

interface FieldsProps {
  readonly draft: AnalysisDraft
  readonly change: (changes: Partial<AnalysisDraft>) => void
}

function TypeChoice({
  draft,
  executed,
  change,
}: FieldsProps & { readonly executed: readonly string[] }): ComponentChild {
  return h(
    'fieldset',
    { class: 'types' },
    h('legend', null, 'What to find'),
    analysisTypes.map((type) => {
      const isOff = !executed.includes(type)
      return h(
        'label',
        { key: type, class: isOff ? 'off' : '' },
        h('input', {
          type: 'radio',
          name: 'analysis-type',
          checked: type === draft.type,
          disabled: isOff,
          onChange: () => change({ type, parameters: initialParameters(type) }),
        }),
        h(
          'span',
          null,
          h('strong', null, typeWords[type].title),
          h('span', { class: 'note' }, isOff ? 'Not available to this application.' : typeWords[type].about),
        ),
      )
    }),
  )
}

interface ScopeProps extends FieldsProps {
  readonly datasets: readonly string[]
  readonly faults: FieldFaults
}

const scopeNames = {
  platforms: 'source_platforms',
  languages: 'languages',
  from: 'published_from',
  to: 'published_to',
} as const

function ScopeFields({ draft, datasets, faults, change }: ScopeProps): ComponentChild {
  const text = (name: keyof typeof scopeNames, title: string, type: string): ComponentChild => {
    const fault = faults.get(`input_scope.${scopeNames[name]}`)
    return h(
      'div',
      { class: 'field' },
      h('label', { for: `scope-${name}` }, title),
      h('input', {
        id: `scope-${name}`,
        type,
        value: draft[name],
        placeholder: 'All',
        autocomplete: 'off',
        'aria-invalid': fault !== undefined,
        'aria-describedby': `scope-${name}-fault`,
        onInput: (event: Event) => change({ [name]: (event.currentTarget as HTMLInputElement).value }),
      }),
      h(FieldFault, { id: `scope-${name}-fault`, fault }),
    )
  }
  return h(
    'fieldset',
    { class: 'scope' },
    h('legend', null, 'Which documents'),
    h(
      'div',
      { class: 'checks' },
      datasets.map((one) =>
        h(
          'label',
          { key: one },
          h('input', {
            type: 'checkbox',
            checked: draft.datasets.includes(one),
            onChange: () =>
              change({
                datasets: draft.datasets.includes(one)
                  ? draft.datasets.filter((other) => other !== one)
                  : [...draft.datasets, one],
              }),
          }),
          one,
        ),
      ),
    ),
    h(
      'div',
      { class: 'pairs' },
      text('platforms', 'Platforms', 'text'),
      text('languages', 'Languages', 'text'),
      text('from', 'Published from', 'date'),
      text('to', 'Published until', 'date'),
    ),
  )
}

const modeWords = {
  on_change: 'When documents change',
  scheduled: 'On a schedule',
  hybrid: 'Both',
} as const

function SubscriptionFields({ draft, change }: FieldsProps): ComponentChild {
  const { subscription } = draft
  const set = (changes: Partial<NonNullable<AnalysisDraft['subscription']>>): void =>
    change({ subscription: { ...subscription!, ...changes } })
  return h(
    'fieldset',
    { class: 'subscription-fields' },
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        checked: subscription !== null,
        onChange: () =>
          change({ subscription: subscription === null ? { name: '', mode: 'on_change', hours: 24 } : null }),
      }),
      'Repeat as a subscription',
    ),
    subscription === null
      ? null
      : h(
          'div',
          { class: 'pairs' },
          h(
            'div',
            { class: 'field wide' },
            h('label', { for: 'subscription-name' }, 'Name'),
            h('input', {
              id: 'subscription-name',
              required: true,
              maxLength: 200,
              value: subscription.name,
              onInput: (event: Event) => set({ name: (event.currentTarget as HTMLInputElement).value }),
            }),
          ),
          h(
            'div',
            { class: 'field' },
            h('label', { for: 'subscription-mode' }, 'Starts'),
            h(
              'select',
              {
                id: 'subscription-mode',
                value: subscription.mode,
                onChange: (event: Event) =>
                  set({ mode: (event.currentTarget as HTMLSelectElement).value as keyof typeof modeWords }),
              },
              Object.entries(modeWords).map(([mode, words]) => h('option', { key: mode, value: mode }, words)),
            ),
          ),
          subscription.mode === 'on_change'
            ? null
            : h(
                'div',
                { class: 'field' },
                h('label', { for: 'subscription-hours' }, 'Interval (hours)'),
                h('input', {
                  id: 'subscription-hours',
                  type: 'number',
                  min: 1,
                  max: 8_784,
                  required: true,
                  value: subscription.hours,
                  onInput: (event: Event) => set({ hours: Number((event.currentTarget as HTMLInputElement).value) }),
                }),
              ),
        ),
  )
}
