import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sharedServer, type TestServer } from '../acceptance/harness.ts'

/**
 * For every route that reads: the longest request that its parameters allow, with the longest encoding of each
 * character and 15 KiB of other headers. Such a request always fits.
 */
interface Parameter {
  readonly in: string
  readonly name: string
  readonly description: string
  readonly schema: {
    readonly type?: string
    readonly format?: string
    readonly enum?: readonly unknown[]
    readonly maxLength?: number
    readonly maximum?: number
    readonly items?: { readonly enum?: readonly string[] }
  }
}

let server: TestServer
interface Route {
  readonly parameters?: readonly Parameter[]
  readonly responses: Readonly<Record<string, object>>
}
let paths: Readonly<Record<string, { readonly get?: Route }>>
let key: string

before(async () => {
  server = await sharedServer()
  await server.makeDataset('largest')
  const policy = { analysis_enabled: true, live: { enabled: true } }
  ;({ key } = await server.makeApplication({ entitlements: [{ datasets: ['largest'] }], policy }))
  ;({ paths } = (await server.call('GET', '/openapi.json')).body)
})

/** One character that takes four bytes, and so twelve characters of an address. */
const longest = '😀'

const isList = ({ description }: Parameter): boolean => description.includes('Separate several with commas')

/** A value for one parameter that the route does not know. */
function largestValue(parameter: Parameter, listBytes: number): string {
  const { name, in: place, schema } = parameter
  const { type, format, enum: values, maxLength, maximum, items } = schema
  if (items !== undefined) return items.enum!.join(',')
  if (isList(parameter)) return longest.repeat(listBytes / 4)
  if (values !== undefined) return String(values[0])
  if (type === 'boolean') return 'false'
  if (type === 'integer' || type === 'number') return String(maximum)
  // The only parameter without a maximum. Longer IDs belong to no author.
  if (place === 'path' && name === 'external_author_id') return longest.repeat(512)
  assert.ok(maxLength !== undefined, `${name} has no bound`)
  if (format === 'date-time') return `2026-01-01T00:00:00.${'0'.repeat(maxLength - 21)}Z`
  // Cursors consist of characters that need no escape.
  return /^(cursor|after|before)$/.test(name) ? 'x'.repeat(maxLength) : longest.repeat(maxLength)
}

test('the longest request that is valid, in the longest way to write it, is not too long for any route', async () => {
  let asked = 0
  for (const [path, { get }] of Object.entries(paths)) {
    if (!path.startsWith('/v1/') || get === undefined) continue
    const { parameters = [] } = get
    const lists = parameters.filter((one) => one.in === 'query' && isList(one) && one.schema.items === undefined)
    const listBytes = Math.max(0, ...lists.map(({ schema }) => schema.maxLength!))
    const query = new URLSearchParams()
    let filled = path
    for (const parameter of parameters) {
      const bytes = parameter === lists[0] ? listBytes - 4 * lists.length : 4
      if (parameter.in === 'path') {
        filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(largestValue(parameter, 0)))
      }
      if (parameter.in === 'query') query.set(parameter.name, largestValue(parameter, bytes))
    }
    const options = { headers: { authorization: `Bearer ${key}`, 'x-other': 'x'.repeat(15_000) } }
    const { status, text } = await server.call('GET', `${filled}?${query}`, options)
    // The request names nothing that exists, but it is parsed.
    assert.ok([200, 400, 403, 404].includes(status), `${path}: ${status} ${text}`)
    asked++
  }
  assert.ok(asked > 15, `${asked} routes`)
})

test('listings with lists of 16 KiB in other letters than ours, one author and one address are answered', async () => {
  const parameters = {
    dataset_id: 'largest',
    source_platforms: 'rss',
    external_author_id: longest.repeat(512),
    topics: '海'.repeat(5100),
    tags: Array.from({ length: 200 }, (_, i) => `t${i}`).join(','),
    query: longest.repeat(4096),
    created_from: '2026-01-01T00:00:00.000Z',
    created_to: '2026-01-02T00:00:00Z',
  }
  const browse = await server.consumer(key, 'GET', `/v1/documents/browse?${new URLSearchParams(parameters)}`)
  assert.equal(browse.status, 200, browse.text)
  assert.deepEqual(browse.body.documents, [])
})

test('what is too long is 431, and every route says so', async () => {
  const { status, body } = await server.consumer(key, 'GET', `/v1/changes?cursor=${'x'.repeat(140_000)}`)
  assert.deepEqual([status, body.code], [431, 'headers_too_large'])
  for (const [path, { get }] of Object.entries(paths)) {
    if (path.startsWith('/v1/') && get !== undefined) assert.ok('431' in get.responses, path)
  }
})
