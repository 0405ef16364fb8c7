/** The kind of response: JSON, text, a file to save, or nothing. */
export type Answer = { readonly kind: 'json' | 'text' | 'none' } | { readonly kind: 'file'; readonly name: string }

export interface ReadyRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/**
 * A request as displayed code has it. Missing values are placeholders. The credential is an environment variable, never
 * the typed key, because code gets pasted into files and chats.
 */
export interface ShownRequest extends ReadyRequest {
  readonly variable: string | null
  readonly answer: Answer
}

/** The languages of displayed requests. The code runs as it is and needs only the standard library. */
export const codeLanguages = ['curl', 'Python', 'TypeScript'] as const
export type CodeLanguage = (typeof codeLanguages)[number]

export function codeOf(language: CodeLanguage, request: ShownRequest): string {
  return writers[language](request)
}

const writers: Readonly<Record<CodeLanguage, (request: ShownRequest) => string>> = {
  curl: curlOf,
  Python: pythonOf,
  TypeScript: typescriptOf,
}

function curlOf({ method, url, headers, body, variable, answer }: ShownRequest): string {
  const implied = body === null ? 'GET' : 'POST'
  // Without -f, curl would save an error in place of the file.
  const parts = [
    `curl -s${answer.kind === 'file' ? 'Sf' : ''}${method === implied ? '' : ` -X ${method}`} ${quote(url)}`,
  ]
  if (variable !== null) parts.push(`-H "Authorization: Bearer $${variable}"`)
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body !== null) parts.push(`--data-binary ${quote(body)}`)
  if (answer.kind === 'file') parts.push(`-o ${quote(answer.name)}`)
  return parts.join(' \\\n  ')
}

const quote = (text: string): string => (/^[\w:/.,=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

function pythonOf({ method, url, headers, body, variable, answer }: ShownRequest): string {
  const value = jsonBody(headers, body)
  const usesJson = value !== undefined || answer.kind === 'json'
  const imports = [usesJson ? 'json' : null, variable === null ? null : 'os', 'urllib.request'].filter(
    (one) => one !== null,
  )
  const named = Object.entries(headers).map(([name, text]) => `${string(name)}: ${string(text)},`)
  if (variable !== null) named.unshift('"Authorization": f"Bearer {key}",')
  const read = {
    json: 'print(json.load(answer))',
    text: 'print(answer.read().decode())',
    file: answer.kind === 'file' ? `open(${string(answer.name)}, "wb").write(answer.read())` : '',
    none: 'print(answer.status)',
  }[answer.kind]
  return [
    `import ${imports.join(', ')}`,
    '',
    variable === null ? null : `key = os.environ["${variable}"]`,
    'request = urllib.request.Request(',
    `    ${string(url)},`,
    method === 'GET' ? null : `    method="${method}",`,
    named.length === 0 ? null : ['    headers={', ...named.map((line) => `        ${line}`), '    },'].join('\n'),
    value === undefined ? null : `    data=json.dumps(${indented(pythonLiteral(value), 4)}).encode(),`,
    value === undefined && body !== null ? `    data=${string(body)}.encode(),` : null,
    ')',
    'with urllib.request.urlopen(request) as answer:',
    `    ${read}`,
  ]
    .filter((line) => line !== null)
    .join('\n')
}

function typescriptOf({ method, url, headers, body, variable, answer }: ShownRequest): string {
  const value = jsonBody(headers, body)
  const named = Object.entries(headers).map(
    ([name, text]) => `${/^\w+$/.test(name) ? name : string(name)}: ${string(text)},`,
  )
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a template in the displayed code.
  if (variable !== null) named.unshift('Authorization: `Bearer ${key}`,')
  const options = [
    method === 'GET' ? null : `  method: "${method}",`,
    named.length === 0 ? null : ['  headers: {', ...named.map((line) => `    ${line}`), '  },'].join('\n'),
    value === undefined ? null : `  body: JSON.stringify(${indented(typescriptLiteral(value), 2)}),`,
    value === undefined && body !== null ? `  body: ${string(body)},` : null,
  ].filter((line) => line !== null)
  const read = {
    json: ['console.log(await answer.json())'],
    text: ['console.log(await answer.text())'],
    file: answer.kind === 'file' ? [`await writeFile(${string(answer.name)}, await answer.bytes())`] : [],
    none: ['console.log(answer.status)'],
  }[answer.kind]
  return [
    ...(answer.kind === 'file' ? ['import { writeFile } from "node:fs/promises"', ''] : []),
    ...(variable === null ? [] : [`const key = process.env.${variable}`]),
    options.length === 0
      ? `const answer = await fetch(${string(url)})`
      : `const answer = await fetch(${string(url)}, {`,
    ...options,
    ...(options.length === 0 ? [] : ['})']),
    'if (!answer.ok) throw new Error(await answer.text())',
    ...read,
  ].join('\n')
}

/** Returns the value of a JSON body; undefined for any other body, and for half-typed JSON. */
function jsonBody(headers: Readonly<Record<string, string>>, body: string | null): unknown {
  if (body === null || headers['Content-Type'] !== 'application/json') return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** A JSON string literal is valid in Python and TypeScript too. */
const string = (text: string): string => JSON.stringify(text)

/** Returns JSON on several lines, with short lists of simple values on one line. */
function jsonText(value: unknown, spaces: number): string {
  const simple = String.raw`(?:"(?:\\.|[^"\\])*"|[-+.\w]+)`
  const list = new RegExp(String.raw`\[\n\s+(${simple}(?:,\n\s+${simple})*)\n\s+\]`, 'g')
  return JSON.stringify(value, null, spaces).replace(list, (whole, items: string) => {
    const line = `[${items.replace(/,\n\s+/g, ', ')}]`
    return line.length > lineMax ? whole : line
  })
}

const lineMax = 48
const pythonWords: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' }

const pythonLiteral = (value: unknown): string =>
  jsonText(value, 4).replace(/"(?:\\.|[^"\\])*"|\b(?:true|false|null)\b/g, (token) => pythonWords[token] ?? token)

/** Returns JSON without quotes around simple names. A name always starts its line, and a string has no line breaks. */
const typescriptLiteral = (value: unknown): string => jsonText(value, 2).replace(/^( *)"([A-Za-z_]\w*)":/gm, '$1$2:')

const indented = (text: string, by: number): string => text.replaceAll('\n', `\n${' '.repeat(by)}`)
