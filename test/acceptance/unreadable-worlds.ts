import { hash } from 'node:crypto'
import { documentFields, fieldPermissions, openedBy, sampledFields } from '../support/document-fields.ts'
import type { Sent } from './content.ts'
import { fakeVector } from './fake-embedding.ts'

/**
 * Pairs of worlds that differ only in values that one reader may not read. Its own rules decide which values these are,
 * from the sent documents.
 */
export interface Entry {
  readonly datasets: readonly string[]
  readonly platforms?: readonly string[]
  readonly languages?: readonly string[]
  readonly regions?: readonly string[]
  readonly published_from?: string
  readonly published_to?: string
  readonly fields?: readonly string[]
}

/** One document: everything that is sent for it, in order. Each step is another version. */
export interface History {
  readonly name: string
  readonly steps: readonly Sent[]
  /** Arrives by a live query instead of being sent. */
  readonly isLive: boolean
}

export interface WorldPair {
  readonly entitlements: readonly Entry[]
  /** The same documents in both worlds. */
  readonly histories: readonly [readonly History[], readonly History[]]
  /** Documents of a dataset that the reader cannot see. They and their number differ between the worlds. */
  readonly closed: readonly [readonly Sent[], readonly Sent[]]
  /** Titles from both worlds, and words that may be in both. */
  readonly queries: readonly string[]
}

type Chance = () => number

/** Numbers from 0 to 1, the same for the same seed. */
function chanceOf(seed: number | string): Chance {
  let drawn = 0
  return () => hash('sha256', `${seed} ${drawn++}`, 'buffer').readUInt32LE() / 2 ** 32
}

const pick = <T>(chance: Chance, values: readonly T[]): T => values[Math.floor(chance() * values.length)]!
const upTo = (chance: Chance, most: number): number => Math.floor(chance() * (most + 1))

/** Few words, so that every combination occurs. Some indicate a language, whose rules then apply. */
const words =
  'harbours harbour tides gulls sailing sailed anchors mast Häfen Möwen segeln und der die nicht the of and not'
const vocabulary = words.split(' ')
export const queryWords = ['harbour', 'tide', 'gull', 'sail', 'anchor', 'Hafen', 'Möwe']

const wordsOf = (chance: Chance, count: number): string =>
  Array.from({ length: count }, () => pick(chance, vocabulary)).join(' ')

/** Every sentence has `mark`, so that a query can find all chunks of a text. */
const bodyOf = (chance: Chance, mark: string, sentences: number): string =>
  Array.from({ length: sentences }, () => `${mark} ${wordsOf(chance, 3 + upTo(chance, 6))}.`).join(' ')

/** Most titles have few words, so that other documents share them. */
const titleOf = (chance: Chance): string => wordsOf(chance, 1 + upTo(chance, 3))

/** The fields that the entries open for a document in a language; null if no entry matches. */
function fieldsOf(entries: readonly Entry[], sent: Sent, language: unknown): Set<string> | null {
  const allows = (allowed: readonly string[] | undefined, value: unknown) =>
    allowed === undefined || (typeof value === 'string' && allowed.includes(value))
  const { published_at: at } = sent as { published_at: string | null }
  const matching = entries.filter(
    (entry) =>
      allows(entry.datasets, sent.dataset_id) &&
      allows(entry.platforms, sent.source_platform) &&
      allows(entry.languages, language) &&
      allows(entry.regions, sent.region) &&
      (entry.published_from === undefined || (at !== null && at >= entry.published_from)) &&
      (entry.published_to === undefined || (at !== null && at < entry.published_to)),
  )
  if (matching.length === 0) return null
  return new Set(matching.flatMap((entry) => entry.fields ?? fieldPermissions))
}

/**
 * Replaces unreadable values: equal values by equal ones, different values by different ones, even if one of the two is
 * readable. The feed reveals to a reader of two versions that a field changed between them.
 */
class Alterations {
  readonly #chance: Chance
  readonly #known = new Map<string, unknown>()

  constructor(chance: Chance) {
    this.#chance = chance
  }

  /** Records a value that the reader knows. */
  keep(field: string, value: unknown): void {
    this.#known.set(JSON.stringify([field, value]), value)
  }

  of(field: string, value: unknown, mark: string): unknown {
    if (value === undefined || value === null) return value
    const key = JSON.stringify([field, value])
    let made = this.#known.get(key)
    const others = new Set([...this.#known.values()].map((other) => JSON.stringify(other)))
    while (made === undefined || (!this.#known.has(key) && others.has(JSON.stringify(made)))) {
      made = this.#make(field, String(value), mark, this.#known.size)
    }
    this.#known.set(key, made)
    return made
  }

  #make(field: string, value: string, mark: string, number: number): unknown {
    const chance = this.#chance
    switch (field) {
      case 'title':
        return `${titleOf(chance)}${value.endsWith(mark) ? ` ${mark}` : ''}`
      case 'body':
        // Half of these bodies have several chunks, because the number of chunks is hidden too.
        return bodyOf(chance, mark, 1 + (chance() < 0.5 ? 30 + upTo(chance, 40) : upTo(chance, 3)))
      case 'author':
        return authorOf(chance, number)
      case 'facts':
        return [{ kind: 'category', metadata: { label_code: `altered${number}` } }]
      case 'metrics':
        return { likes: 1000 + number }
      case 'quality':
        return (number % 10) / 10
      case 'extra_payload':
        return { altered: number }
    }
    switch (documentFields.find(({ name }) => name === field)!.kind) {
      case 'texts':
        return [pick(chance, queryWords), `altered${number}`]
      case 'integer':
        return 1000 + number
      case 'time':
        return new Date(Date.UTC(2090, 0) + number).toISOString()
      case 'object':
        return { altered: number }
      default:
        return `https://example.com/altered/${number}`
    }
  }
}

/** The fields that are the same in both worlds even for a reader who cannot see the document. */
const shared = 'dataset_id source_platform external_id language region status published_at observed_at'.split(' ')

const authorOf = (chance: Chance, number: number): object => ({
  external_author_id: pick(chance, ['u1', 'u2', 'u3']),
  nickname: `Nick ${number}`,
})

/** The other world: the same histories with changes to everything that the entries do not open. */
function alter(histories: readonly History[], entries: readonly Entry[], chance: Chance): History[] {
  return histories.map((history, i) => {
    const alterations = new Alterations(chance)
    const last = history.steps.at(-1)!
    const opened = fieldsOf(entries, last, last.language)
    const ofVersions = history.steps.map((step) => fieldsOf(entries, step, step.language ?? last.language))
    const isHidden = ofVersions.every((fields) => fields === null)
    const isReadable = (field: string, version: number) => readableField(field, opened, ofVersions[version]!, isHidden)
    for (const [version, step] of history.steps.entries()) {
      for (const [field, value] of Object.entries(step)) if (isReadable(field, version)) alterations.keep(field, value)
    }
    const steps = history.steps.map((step, version) => {
      const altered: Sent = {}
      for (const [field, value] of Object.entries(step)) {
        altered[field] = isReadable(field, version) ? value : alterations.of(field, value, markOf(i, version))
      }
      return altered
    })
    return { ...history, steps }
  })
}

/** Whether the reader can see a field. Quality has no words, but affects scores for readers of the document. */
function readableField(
  field: string,
  opened: ReadonlySet<string> | null,
  ofVersion: ReadonlySet<string> | null,
  isHidden: boolean,
): boolean {
  if (field === 'extra_payload') return false
  if (field === 'title' || field === 'body') return ofVersion?.has(field) ?? false
  const permissions = openedBy[field]
  if (permissions !== undefined) return permissions.some((permission) => opened?.has(permission) ?? false)
  return !isHidden || shared.includes(field)
}

/** Texts with common words are near each other, and no two are equally near to a third, because ids break ties. */
export function vectorOf(text: string, dimensions?: number): number[] {
  const chance = chanceOf(text)
  return fakeVector(text, dimensions).map((value) => value + chance() / 10)
}

/** The word in all chunks of a version. */
export const markOf = (document: number, version: number): string => `mark${document}v${version}`

/** Times so far in the past or future that recency does not change during the comparison. */
const times = [null, '1900-01-01T00:00:00.000Z', '2090-01-01T00:00:00.000Z']

function randomHistory(chance: Chance, dataset: string, name: string, number: number): History {
  const fixed = {
    ...Object.fromEntries(sampledFields.map(({ name, samples }) => [name, pick(chance, [null, ...samples])])),
    dataset_id: dataset,
    source_platform: pick(chance, ['rss', 'board']),
    external_id: name,
    url: `https://example.com/${name}`,
    content_type: pick(chance, ['article', 'post', null]),
    region: pick(chance, ['GB', 'DE', null]),
    published_at: pick(chance, times),
    quality: pick(chance, [null, 0.2, 0.9]),
    status: pick(chance, ['active', 'active', 'unavailable']),
    observed_at: '2026-01-01T00:00:00.000Z',
  }
  const hasTitle = chance() < 0.9
  const hasBody = !hasTitle || chance() < 0.9
  const isLive = chance() < 0.2
  const steps = Array.from({ length: isLive ? 1 : 1 + upTo(chance, 2) }, (_, version): Sent => {
    const mark = markOf(number, version)
    return {
      ...fixed,
      language: pick(chance, ['en', 'de', 'fr', null]),
      title: hasTitle ? `${titleOf(chance)}${hasBody ? '' : ` ${mark}`}` : null,
      // One chunk only: of two equally good chunks the one with the lower id wins, and ids differ.
      body: hasBody ? bodyOf(chance, mark, 1 + upTo(chance, 3)) : null,
      author: authorOf(chance, version),
      topics: [pick(chance, queryWords)],
      tags: [pick(chance, queryWords)],
      facts: [{ kind: 'category', metadata: { label_code: pick(chance, ['sea', 'land']) } }],
      score: upTo(chance, 9),
      metrics: { likes: upTo(chance, 99) },
      extra_payload: { secret: wordsOf(chance, 2) },
    }
  })
  return { name, steps, isLive }
}

/** The kinds of readers. Each has a dataset of its own, and there is one that none may read. */
const readers: Readonly<Record<string, (datasets: string[]) => readonly Entry[]>> = {
  titles: (datasets) => [{ datasets, fields: ['title'] }],
  bodies: (datasets) => [{ datasets, fields: ['body'] }],
  texts: (datasets) => [{ datasets, fields: ['title', 'body'] }],
  german: (datasets) => [{ datasets, languages: ['de'] }],
  halves: (datasets) => [
    { datasets, platforms: ['rss'], fields: ['title', 'metadata'] },
    { datasets, platforms: ['board'], languages: ['en', 'fr'], fields: ['body', 'author'] },
  ],
  placed: (datasets) => [
    { datasets, regions: ['GB'], fields: ['title', 'body', 'facts'] },
    { datasets, published_from: '2000-01-01T00:00:00.000Z', fields: ['title', 'metrics'] },
  ],
  numbers: (datasets) => [
    { datasets, platforms: ['rss'], published_to: '2000-01-01T00:00:00.000Z', fields: ['metrics'] },
  ],
}
export const readerNames = Object.keys(readers)

/**
 * Readers that may not read a title or a body. Their worlds have more documents than hybrid search reads word by word.
 */
export const partReaders = ['titles', 'bodies', 'halves']
const documentsOf = (reader: string): number => (partReaders.includes(reader) ? 60 : 20)

/** Two worlds for a reader, with the datasets `open` and `closed`. The reader cannot see `closed`. */
export function worldPairOf(reader: string, seed: number, open: string, closed: string): WorldPair {
  const chance = chanceOf(seed)
  const entitlements = readers[reader]!([open])
  const histories = Array.from({ length: documentsOf(reader) }, (_, i) =>
    randomHistory(chance, open, `${open}-${i}`, i),
  )
  const altered = alter(histories, entitlements, chance)
  const others = () =>
    Array.from(
      { length: upTo(chance, 6) },
      (_, i) => randomHistory(chance, closed, `${closed}-${i}`, upTo(chance, 9)).steps[0]!,
    )
  const worlds = [histories, altered] as const
  const titles = worlds.flat().flatMap(({ steps }) => steps.at(-1)!.title ?? []) as string[]
  const queries = [
    pick(chance, queryWords),
    wordsOf(chance, 3),
    `"${wordsOf(chance, 2)}"`,
    `+${pick(chance, queryWords)} ${pick(chance, queryWords)}`,
    `${pick(chance, queryWords)} -${pick(chance, queryWords)}`,
    ...Array.from({ length: 6 }, () => pick(chance, titles)),
  ]
  return { entitlements, histories: worlds, closed: [others(), others()], queries }
}
