import { type Content, el, fill } from '../shared/dom.ts'
import { jsonNodes } from '../shared/json-view.ts'
import { snippet } from '../shared/snippet.ts'
import { keyField } from './credentials.ts'
import { type Description, type Operation, type Parameter, plain } from './openapi-model.ts'
import { bodyExample, buildRequest, type Draft, exampleValue, keyOf, notifyListeners } from './request.ts'

const shownHeaders = ['x-request-id', 'ratelimit', 'ratelimit-policy', 'retry-after', 'content-type', 'etag', 'allow']
const shownCharacters = 400_000

/** Returns the form that fills in a request, sends it to this host, and shows the response. */
export function tryPanel(description: Description, operation: Operation, state: Draft): HTMLElement {
  const idOf = (name: string): string => `try-${operation.id}-${name}`
  const answer = el('div', { class: 'answer', 'aria-live': 'polite' })
  const send = el('button', { type: 'submit', class: 'button main' }, 'Send request')
  const form = el(
    'form',
    { class: 'try-form', autocomplete: 'off' },
    operation.scheme === null ? null : keyField(operation.scheme, idOf('key')),
    operation.parameters.map((parameter) => parameterField(description, parameter, state, idOf(keyOf(parameter)))),
    operation.requestBody ? bodyField(description, state, idOf('body')) : null,
    el('div', { class: 'try-actions' }, send),
  )
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    send.disabled = true
    await exchange(() => buildRequest(operation, state), answer)
    send.disabled = false
    answer.firstElementChild?.scrollIntoView({ block: 'nearest' })
  })
  return el('div', {}, form, answer)
}

function parameterField(description: Description, parameter: Parameter, state: Draft, id: string): HTMLElement {
  const schema = plain(description, parameter.schema)
  const key = keyOf(parameter)
  const choices = schema.type === 'boolean' ? [true, false] : (schema.enum ?? null)
  const hint = schema.default === undefined ? '' : `default ${schema.default}`
  const input = choices
    ? el(
        'select',
        { id },
        el('option', { value: '' }, hint || 'not sent'),
        choices.map((value) => el('option', { value: String(value) }, String(value))),
      )
    : el('input', {
        id,
        type: 'text',
        inputmode: schema.type === 'integer' ? 'numeric' : null,
        placeholder:
          hint ||
          String(exampleValue(description, parameter) ?? (schema.format === 'date-time' ? '2026-11-14T09:30:00Z' : '')),
        spellcheck: 'false',
        required: parameter.in === 'path',
      })
  input.value = state.values.get(key) ?? ''
  input.addEventListener('input', () => {
    state.values.set(key, input.value.trim())
    notifyListeners(state)
  })
  const mark = parameter.required ? el('span', { class: 'required' }, 'required') : null
  return el('div', { class: 'input-row' }, el('label', { for: id }, el('code', {}, parameter.name), mark), input)
}

function bodyField(description: Description, state: Draft, id: string): Content {
  const fault = el('p', { class: 'fault', id: `${id}-fault`, role: 'status' })
  const area = el('textarea', { id, class: 'code', rows: 8, spellcheck: 'false', 'aria-describedby': `${id}-fault` })
  area.value = state.body
  const check = (): void => {
    const type = state.contentType ?? ''
    fault.textContent = ''
    if (!/json$/.test(type) || /ndjson/.test(type) || area.value.trim() === '') return
    try {
      JSON.parse(area.value)
    } catch (error) {
      fault.textContent = `Not JSON yet: ${messageOf(error)}`
    }
  }
  area.addEventListener('input', () => {
    state.body = area.value
    check()
    notifyListeners(state)
  })
  area.rows = Math.min(18, Math.max(4, area.value.split('\n').length + 1))
  const pick = state.bodies.length < 2 ? null : typeField(description, state, area, check, `${id}-type`)
  return [pick, el('div', { class: 'input-row tall' }, el('label', { for: id }, 'Body'), area, fault)]
}

function typeField(
  description: Description,
  state: Draft,
  area: HTMLTextAreaElement,
  check: () => void,
  id: string,
): HTMLElement {
  const select = el(
    'select',
    { id },
    state.bodies.map(({ type }) => el('option', { value: type }, type)),
  )
  select.addEventListener('change', () => {
    const media = state.bodies.find(({ type }) => type === select.value)!
    state.contentType = media.type
    state.body = bodyExample(
      description,
      media.schema || media.example ? media : { ...state.bodies[0], type: media.type },
    )
    area.value = state.body
    check()
    notifyListeners(state)
  })
  return el('div', { class: 'input-row' }, el('label', { for: id }, 'Content type'), select)
}

async function exchange(build: () => ReturnType<typeof buildRequest>, answer: HTMLElement): Promise<void> {
  let request: ReturnType<typeof buildRequest>
  try {
    request = build()
  } catch (error) {
    fill(answer, el('p', { class: 'fault' }, messageOf(error)))
    return
  }
  const { method, url, headers, body } = request
  fill(answer, el('p', { class: 'waiting' }, 'Waiting for the response …'))
  const from = performance.now()
  try {
    const response = await fetch(url, { method, headers, body, cache: 'no-store', credentials: 'omit' })
    const data = await response.blob()
    const ms = performance.now() - from
    fill(answer, summary(response, data, ms), headerList(response), await content(response, data))
  } catch (error) {
    fill(answer, el('p', { class: 'fault' }, `No response: ${messageOf(error)}. Is the server running?`))
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function summary(response: Response, data: Blob, ms: number): HTMLElement {
  const kind = response.ok ? 'good' : response.status < 500 ? 'warn' : 'bad'
  return el(
    'p',
    { class: 'answer-line' },
    el('strong', { class: `status-code ${kind}` }, `${response.status} ${response.statusText}`.trim()),
    el('span', {}, `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`),
    el('span', {}, bytes(data.size)),
  )
}

function headerList(response: Response): HTMLElement {
  const rows = shownHeaders.filter((name) => response.headers.has(name))
  return el(
    'dl',
    { class: 'headers' },
    rows.map((name) => el('div', {}, el('dt', {}, name), el('dd', {}, response.headers.get(name)))),
  )
}

async function content(response: Response, data: Blob): Promise<HTMLElement> {
  const type = response.headers.get('content-type') ?? ''
  if (data.size === 0) return el('p', { class: 'waiting' }, 'The response has no body.')
  if (!/json|text|xml/.test(type)) {
    const link = el(
      'a',
      { class: 'button small', href: URL.createObjectURL(data), download: fileName(response) },
      'Save file',
    )
    return el('p', {}, link)
  }
  const text = await data.text()
  const shown = snippet('Response')
  const pretty = /json/.test(type) ? prettyJson(text) : null
  const whole = pretty ?? text
  const cut =
    whole.length > shownCharacters
      ? `${whole.slice(0, shownCharacters)}\n… shortened here; “Copy” copies all of it`
      : whole
  shown.set(whole, pretty === null ? cut : jsonNodes(cut))
  return shown.box
}

function prettyJson(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return null
  }
}

function fileName(response: Response): string {
  const given = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
  return given ?? new URL(response.url).pathname.split('/').filter(Boolean).at(-1) ?? 'answer'
}

const bytes = (size: number): string => (size < 1024 ? `${size} B` : `${(size / 1024).toFixed(1)} kB`)
