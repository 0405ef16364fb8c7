import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { callApi, inWords } from '../app/call-api.ts'
import type { FieldFaults } from '../app/field-faults.ts'
import { type Description, type PlainSchema, plain } from '../reference/openapi-model.ts'
import type { AnalysisType } from './analysis-types.ts'
import { FieldFault } from './field-fault.ts'

export type Parameters = Readonly<Record<string, unknown>>

interface Props {
  readonly type: AnalysisType
  readonly given: Parameters
  readonly faults: FieldFaults
  readonly change: (given: Parameters) => void
}

let reading: Promise<Description> | null = null

/** Reads the API description once, when a form is first opened, because it is large. */
function readDescription(): Promise<Description> {
  reading ??= callApi<Description>('GET', '/openapi.json')
  reading.catch(() => {
    reading = null
  })
  return reading
}

/** Returns, for `knn_graph`, the name KnnGraphParameters. */
const schemaName = (type: AnalysisType): string =>
  `${type.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Parameters`

/** Shows a field for each parameter of an analysis type, with the bounds and the help text of the API description. */
export function ParameterFields({ type, given, faults, change }: Props): ComponentChild {
  const described = useSignal<Description | null>(null)
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    readDescription().then(
      (description) => {
        described.value = description
      },
      (error) => {
        fault.value = inWords(error)
      },
    )
  }, [])
  if (fault.value !== null) return h('p', { class: 'fault', role: 'alert' }, fault.value)
  if (described.value === null) return h('p', { class: 'note' }, 'Loading parameters …')
  const description = described.value
  const { properties = {}, required = [] } = plain(description, description.components?.schemas?.[schemaName(type)])
  return Object.entries(properties).map(([name, schema]) => {
    const known = plain(description, schema)
    const set = (value: unknown): void => {
      const { [name]: _, ...others } = given
      change(value === undefined ? others : { ...others, [name]: value })
    }
    const choices = known.type === 'array' ? plain(description, known.items).enum : undefined
    const field = {
      id: `parameter-${name}`,
      name,
      known,
      value: given[name],
      isRequired: required.includes(name),
      fault: faults.get(`parameters.${name}`),
      set,
    }
    return choices === undefined ? h(OneValue, { key: name, ...field }) : h(Several, { key: name, ...field, choices })
  })
}

interface FieldProps {
  readonly id: string
  readonly name: string
  readonly known: PlainSchema
  readonly value: unknown
  readonly isRequired: boolean
  readonly fault: string | undefined
  readonly set: (value: unknown) => void
}

const inWordsOf = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`
const helpOf = ({ description = '' }: PlainSchema): string => description.replaceAll('`', '')

function OneValue({ id, name, known, value, isRequired, fault, set }: FieldProps): ComponentChild {
  const changed = (event: Event): void => {
    const text = (event.currentTarget as HTMLInputElement).value
    set(text === '' ? undefined : known.enum === undefined && known.type !== 'string' ? Number(text) : text)
  }
  const props = {
    id,
    'aria-describedby': `${id}-fault ${id}-help`,
    'aria-invalid': fault !== undefined,
    required: isRequired,
    value: (value ?? '') as string,
  }
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, inWordsOf(name)),
    known.enum !== undefined
      ? h(
          'select',
          { ...props, onChange: changed },
          h('option', { value: '' }, '–'),
          known.enum.map((one) => h('option', { key: String(one), value: String(one) }, String(one))),
        )
      : h('input', {
          ...props,
          type: known.type === 'string' ? 'text' : 'number',
          step: known.type === 'integer' ? 1 : 'any',
          min: known.minimum,
          max: known.maximum,
          placeholder: known.default === undefined ? 'None' : String(known.default),
          onInput: changed,
        }),
    h(FieldFault, { id: `${id}-fault`, fault }),
    h('p', { class: 'note', id: `${id}-help` }, helpOf(known)),
  )
}

function Several({
  id,
  name,
  known,
  value,
  choices,
  fault,
  set,
}: FieldProps & { choices: readonly unknown[] }): ComponentChild {
  const chosen = Array.isArray(value) ? (value as readonly unknown[]) : []
  const isFull = chosen.length >= (known.maxItems ?? choices.length)
  return h(
    'fieldset',
    { class: 'field', 'aria-describedby': `${id}-fault ${id}-help` },
    h('legend', null, inWordsOf(name)),
    h(
      'div',
      { class: 'checks' },
      choices.map((one) =>
        h(
          'label',
          { key: String(one) },
          h('input', {
            type: 'checkbox',
            checked: chosen.includes(one),
            disabled: isFull && !chosen.includes(one),
            onChange: () => {
              const next = chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one]
              set(next.length === 0 ? undefined : next)
            },
          }),
          String(one).replaceAll('_', ' '),
        ),
      ),
    ),
    h(FieldFault, { id: `${id}-fault`, fault }),
    h('p', { class: 'note', id: `${id}-help` }, helpOf(known)),
  )
}
